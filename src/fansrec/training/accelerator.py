"""The device, the precision and the processes of a training run, through accelerate."""

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs

from fansrec.errors import BadSetting


def check_precision(precision: str) -> None:
    """Raise BadSetting for bf16 without a GPU: some CPUs report bf16 instructions and then crash."""
    if precision == "bf16" and not torch.cuda.is_available():
        raise BadSetting("precision is bf16, which needs a GPU; leave it out or use fp32")


def has_only_cpu() -> bool:
    """Return whether there is no accelerator; accelerate needs to know it to connect several processes."""
    return not (torch.cuda.is_available() or torch.backends.mps.is_available())


def make_accelerator(precision: str) -> Accelerator:
    check_precision(precision)
    use_bf16 = precision == "bf16" or (precision == "auto" and torch.cuda.is_available())
    options = DistributedDataParallelKwargs(gradient_as_bucket_view=True)  # keep gradients in memory only once
    return Accelerator(cpu=has_only_cpu(), mixed_precision="bf16" if use_bf16 else "no", kwargs_handlers=[options])
