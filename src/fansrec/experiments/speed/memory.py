"""Peak memory while a system answers: of this process on a CPU, of the device's allocations on a GPU."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")  # Linux
RESET_PEAK = "5"  # written to CLEAR, it sets the peak to the current size
MEGABYTE = 1e6


@dataclass
class Memory:
    """Megabytes; None where they cannot be measured."""

    peak: float | None = None  # of everything that the process, or the device, holds
    working: float | None = None  # what the calls took in addition to what was held before them


@contextmanager
def watched(device: str) -> Iterator[Memory]:
    """Yield a `Memory` that has the peak of the block when the block has ended."""
    found = Memory()
    before = _reset(device)
    yield found
    if before is not None:
        found.peak = _peak(device)
        found.working = max(0.0, found.peak - before)


def _reset(device: str) -> float | None:
    """Reset the peak and return what is in use now, or None if that is not possible here."""
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats(device)
        return torch.cuda.memory_allocated(device) / MEGABYTE
    try:
        return_freed_memory()
        CLEAR.write_text(RESET_PEAK)
        return _resident("VmRSS")
    except OSError:
        return None


def _peak(device: str) -> float:
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated(device) / MEGABYTE
    return _resident("VmHWM")


def _resident(name: str) -> float:
    line = next(line for line in STATUS.read_text(encoding="utf-8").splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024 / MEGABYTE


def return_freed_memory() -> None:
    """Return freed memory to the system: kept for later calls, it would hide how much a call needs."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim is not None:
        trim(0)
