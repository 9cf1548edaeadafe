"""What a training process sets up: device, precision and other processes through accelerate, and its memory."""

import atexit
import ctypes
import os

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs, PartialState

from fansrec.errors import BadSetting
from fansrec.training.devices import ONLY_CPU

# glibc's mallopt, malloc.h
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
MAX_KEPT = 1 << 24  # bytes; larger blocks of many sizes fragment the heap, by gigabytes in a few epochs


def check_precision(precision: str) -> None:
    """Raise BadSetting for bf16 without a GPU: some CPUs report bf16 instructions and then crash."""
    if precision == "bf16" and not torch.cuda.is_available():
        raise BadSetting("precision is bf16, which needs a GPU; leave it out or use fp32")


def has_only_cpu() -> bool:
    """Return whether there is no accelerator to use; accelerate needs to know it to connect several processes."""
    return os.environ.get(ONLY_CPU) == "true" or not (torch.cuda.is_available() or torch.backends.mps.is_available())


def join_processes() -> PartialState:
    """Return the state of all processes that train together; this one leaves their group when it exits.

    Otherwise threads of the group may still run while the interpreter ends, which aborts the process.
    """
    processes = PartialState(cpu=has_only_cpu())
    if processes.num_processes > 1:
        atexit.register(processes.destroy_process_group)
    return processes


def make_accelerator(precision: str) -> Accelerator:
    check_precision(precision)
    use_bf16 = precision == "bf16" or (precision == "auto" and torch.cuda.is_available() and not has_only_cpu())
    options = DistributedDataParallelKwargs(gradient_as_bucket_view=True)  # keep gradients in memory only once
    return Accelerator(cpu=has_only_cpu(), mixed_precision="bf16" if use_bf16 else "no", kwargs_handlers=[options])


def seed_draws(seed: int) -> None:
    """Seed the random draws of the CPU and of the accelerator.

    torch.manual_seed does it for every kind of device that torch supports, which takes a millisecond.
    """
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed(seed)
    elif torch.backends.mps.is_available():
        torch.mps.manual_seed(seed)


def keep_freed_memory() -> None:
    """Let glibc reuse large freed blocks instead of requesting zeroed pages from the system each time.

    With another C library nothing happens.
    """
    try:
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(M_MMAP_THRESHOLD, MAX_KEPT)
        libc.mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)
    except (OSError, AttributeError):
        pass
