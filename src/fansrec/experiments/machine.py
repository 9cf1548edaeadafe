"""The machine that experiments run on."""

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from fansrec import __version__


def describe_machine(device: str) -> dict[str, Any]:
    """Return the hardware and versions that are stored with every result."""
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
    """Return the processor's name, or the architecture if a virtual machine hides it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def default_device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def hide_gpu(device: str | None) -> None:
    """Hide all GPUs from this process and its workers if `device` is cpu; training uses any GPU that it sees."""
    if device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


def format_machine(machine: Mapping[str, Any]) -> str:
    """Return the name of the GPU, or of the processor with its number of threads."""
    threads = f"{machine['threads']} thread{'s' if machine['threads'] != 1 else ''}"
    return f"{machine['name']}, {threads}" if machine["device"] == "cpu" else str(machine["name"])
