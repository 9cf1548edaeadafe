"""Environments of the libraries: one each, because their requirements exclude each other."""

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.peers.catalog import Library

ROOT = Path(__file__).resolve().parents[2]
READY = "installed.txt"
VERSIONS = "import json, sys; from importlib.metadata import version as v; print(json.dumps([*map(v, sys.argv[1:])]))"


class NotInstalled(Exception):
    """A library that cannot be installed here; the message is the last line of the error."""


def install(folder: Path, library: Library) -> Path:
    """Create an environment with a library, or take the one that is there, and return its Python."""
    python = folder / "bin" / "python"
    ready = folder / READY
    if ready.is_file() and ready.read_text(encoding="utf-8") == library.requirement:
        return python
    _run([sys.executable, "-m", "venv", "--clear", str(folder)])
    pins = folder / "constraints.txt"
    pins.write_text(torch_pin((ROOT / "constraints.txt").read_text(encoding="utf-8")), encoding="utf-8")
    _run([str(python), "-m", "pip", "install", "-q", "-c", str(pins), library.requirement])
    ready.write_text(library.requirement, encoding="utf-8")
    return python


def torch_pin(constraints: str) -> str:
    """Return the line of torch: the same one for all; the other pins exclude what some libraries require."""
    return "".join(f"{line}\n" for line in constraints.splitlines() if line.startswith("torch=="))


def versions(python: Path, library: Library) -> dict[str, str]:
    """Return the versions of the packages that the library reports."""
    found = _run([str(python), "-c", VERSIONS, *library.versions])
    return dict(zip(library.versions, json.loads(found), strict=True))


def clean_environment() -> dict[str, str]:
    """Return the environment variables without those that would show a library this project's packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def _run(command: list[str]) -> str:
    ended = subprocess.run(command, capture_output=True, text=True, env=clean_environment(), check=False)
    if ended.returncode:
        raise NotInstalled(last_error(ended.stderr + ended.stdout))
    return ended.stdout


def last_error(output: str) -> str:
    """Return the last line that is an error, or else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["no message"])[-1]
