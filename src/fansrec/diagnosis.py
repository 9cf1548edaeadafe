"""What is installed and works on this machine, for `fans doctor`. Nothing here can be stopped by a broken kernel."""

import contextlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fansrec import __version__
from fansrec.cores import usable_cores
from fansrec.data.locating import data_folders
from fansrec.data.public import PUBLIC
from fansrec.errors import EXTRAS

PURPOSES = {  # by extra, in the order in which they are shown
    "train": "fans demo, prepare, train, compare, tune, evaluate, crossval, bench, reproduce",
    "serve": "fans serve",
    "client": "fansrec.Client and AsyncClient",
    "torch": "models and options that the CPU kernel does not run",
    "gpu": "--device cuda",
    "export": "fans export",
    "ray": "--engine ray",
    "mlflow": "fans train --track mlflow",
    "wandb": "fans train --track wandb",
}
SELF_TEST = "fansrec.engine.self_test"
NARROWER = ("avx512", "avx2", "portable")  # instruction sets to try if the self-test fails
DEADLINE_S = 120.0  # of a child process, also on a busy machine
GPU_SCRIPT = (
    "import json, torch; print(json.dumps([torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]))"
)


def diagnose() -> dict[str, Any]:
    """Return the report of `fans doctor --json`."""
    kernel, self_test = test_kernel()
    return {
        "fansrec": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "kernel": kernel,
        "self_test": self_test,
        "gpu": find_gpus(),
        "extras": {extra: describe_extra(extra) for extra in PURPOSES},
        "data": describe_data(),
        "can_continue_lists": self_test["passed"],
    }


def test_kernel() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the description of the native kernel and the result of its self-test, both from a child process.

    If it fails, `advice` names the widest instruction set that works.
    """
    found, result = _self_test(os.environ)
    if not result["passed"]:
        for name in NARROWER:
            if _self_test(os.environ | {"FANS_NATIVE": name})[1]["passed"]:
                result["advice"] = f"set the environment variable FANS_NATIVE={name}, with which the self-test passes"
                break
    return found, result


def _self_test(environment: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    lines, problem = _run_child(["-P", "-m", SELF_TEST], environment)
    problem = problem or "the self-test printed no result"
    kernel: dict[str, Any] = next(
        (line for line in lines if "compiled" in line), {"instructions": None, "compiled": []}
    )
    failed = {"passed": False, "backend": None, "problem": problem}
    return {"problem": problem} | kernel, next((line for line in lines if "passed" in line), failed)


def _run_child(arguments: list[str], environment: Any) -> tuple[list[Any], str | None]:
    """Return the lines of JSON that a Python process printed, and how it failed, or None."""
    try:
        done = subprocess.run(
            [sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=DEADLINE_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], f"the process did not end ({type(error).__name__})"
    lines = [found for line in done.stdout.splitlines() if (found := _json_of(line)) is not None]
    if done.returncode < 0:
        return lines, f"the process was killed by {_signal_name(-done.returncode)}"
    last = (done.stderr.strip().splitlines() or [""])[-1]
    return lines, None if done.returncode == 0 else last or f"the process ended with {done.returncode}"


def _json_of(line: str) -> Any:
    """Return the object or array of a line; None for one that another package printed."""
    with contextlib.suppress(ValueError):
        return json.loads(line) if line.startswith(("{", "[")) else None
    return None


def _signal_name(number: int) -> str:
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def find_gpus() -> dict[str, Any]:
    """Return the names of the GPUs that torch can use, or why there are none; torch runs in a child process."""
    if not (Path("/proc/driver/nvidia").exists() or shutil.which("nvidia-smi")):
        return {"names": [], "problem": "there is no NVIDIA driver"}
    if not is_installed("torch"):
        return {"names": [], "problem": "torch is not installed; run: pip install 'fansrec[gpu]'"}
    lines, problem = _run_child(["-P", "-c", GPU_SCRIPT], os.environ)
    names = lines[-1] if lines else []
    return {"names": names, "problem": problem or (None if names else "torch finds no GPU; its build may be for CPUs")}


def describe_extra(extra: str) -> dict[str, Any]:
    """Return what an extra is for, which of its packages are missing, and how to install it."""
    missing = [name for name in EXTRAS[extra] if not is_installed(name)]
    install = f"pip install 'fansrec[{extra}]'"
    return {"for": PURPOSES[extra], "installed": not missing, "missing": missing, "install": install}


def is_installed(name: str) -> bool:
    """Return whether a package can be found; it is not imported."""
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):  # a package that is broken or replaced
        return False


def describe_data() -> dict[str, Any]:
    """Return the folders of public data sets, and the sets whose files are there; their checksums are not verified."""
    folders = data_folders()
    sets = [
        name
        for name, one in PUBLIC.items()
        if any((folder / one.folder / form.name).is_file() for folder in folders for form in one.lists)
    ]
    return {"folders": [str(folder) for folder in folders], "exists": folders[0].is_dir(), "sets": sets}
