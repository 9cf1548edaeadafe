"""On what the figures were made."""

import os
import platform
from pathlib import Path
from typing import Any

import torch

from fansrec import __version__


def machine(device: str) -> dict[str, Any]:
    gpu = torch.cuda.get_device_name() if device.startswith("cuda") else None
    return {
        "device": device,
        "name": gpu or processor(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "fansrec": __version__,
    }


def processor() -> str:
    """Its name; a virtual machine may not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def default_device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"
