"""bf16, as training uses it on a GPU: the weights stay fp32, products run in bf16."""

import os
import subprocess
import sys

# In a separate process: on some CPUs bf16 products raise an illegal instruction unless wider ones are disabled.
SCRIPT = """
import numpy as np, torch
from fansrec.models.fans import Fans, FansConfig
from fansrec.training.batches import BatchBuilder
from fansrec.training.masking import MaskingRates
from worlds import walks

corpus = walks()
for classifier in ("two-stage", "vanilla"):
    torch.manual_seed(0)
    config = FansConfig((0, 15, 30, 45, 60), 40, width=16, heads=2, dropout=0.0, classifier=classifier)
    model = Fans(config)
    batch = BatchBuilder(corpus, config.alphabet, MaskingRates()).build(corpus.part("train"), 1.0, [0])
    losses, gradients = [], []
    for bf16 in (False, True):
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = model(batch).total
        loss.backward()
        assert all(parameter.grad.dtype == torch.float32 for parameter in model.parameters())
        losses.append(loss.item())
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
    assert abs(losses[0] - losses[1]) < 0.02 * losses[0], (classifier, losses)
    assert torch.cosine_similarity(*gradients, dim=0) > 0.99, classifier
"""


def test_bf16_loss_and_gradient_are_close_to_fp32() -> None:
    environment = os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
