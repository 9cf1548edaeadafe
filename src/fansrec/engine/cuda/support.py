"""The models whose encoder the kernels can run."""

from collections.abc import Sequence
from typing import Any

import torch

from fansrec.engine.cuda.sizes import CLUSTER, feedforward
from fansrec.models.sequence.sasrec import Layer, SasRec

MAX_CATEGORIES = 1024  # their logits must fit into shared memory
FP16_MAX = 65504.0
MAX_ITEMS = 1_300_000  # of the catalog: one bit per item in the shared memory of a block


def is_sasrec(model: Any) -> bool:
    """Return whether a model has the layers of SASRec; CAR, which inherits the rest, has layers of its own."""
    return isinstance(model, SasRec) and model.layer is Layer


def why_not_encoder(model: Any, sizes: Any, category_starts: Sequence[int], two_stage: bool) -> str | None:
    """Return why the kernels cannot run a model with an encoder of these sizes, in one line, or None if they can."""
    head, wide = sizes.width // sizes.heads, feedforward(sizes)
    if any(tensor.dtype != torch.float32 for tensor in model.parameters()):
        return "its weights are not float32"
    if any(tensor.numel() and tensor.abs().max() > FP16_MAX for tensor in model.parameters()):
        return f"it has weights above {FP16_MAX:,.0f}, which fp16 cannot represent"
    if sizes.width not in (64, 128):
        return "width must be 64 or 128"
    if not is_sasrec(model) and (wide % 64 or wide < 2 * sizes.width + 8):
        return "feedforward must be a multiple of 64, at least 2 x width + 8"
    if head % 8 or (sizes.heads > CLUSTER and sizes.heads % CLUSTER) or (CLUSTER % min(sizes.heads, CLUSTER)):
        return "heads must be 1, 2, 4 or a multiple of 8, and the width of a head a multiple of 8"
    if category_starts[-1] > MAX_ITEMS:
        return f"it takes at most {MAX_ITEMS:,} items"
    if len(category_starts) - 1 > MAX_CATEGORIES and two_stage:
        return f"it takes at most {MAX_CATEGORIES} categories with the two-stage classifier"
    return None
