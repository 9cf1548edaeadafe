"""Wheels in environments of their own."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def variables(home: Path) -> dict[str, str]:
    """Return the environment of a process, without variables that could lead back to the source tree."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "OMP_NUM_THREADS": "1"}


def run(*command: object, cwd: Path) -> str:
    """Run a command outside of the source tree; return its output."""
    done = subprocess.run([*map(str, command)], cwd=cwd, env=variables(cwd), capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def environment(folder: Path) -> Path:
    """Make an empty virtual environment; return the folder of its programs."""
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin"


def share_packages(programs: Path) -> None:
    """Let an environment see the packages that the tests run with, but not our own, which is installed as a link."""
    base = {"base": str(programs.parent), "platbase": str(programs.parent)}
    site = Path(sysconfig.get_path("purelib", "venv", vars=base))
    (site / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")


def install(programs: Path, *arguments: object) -> None:
    """Install into an environment with the pip of the tests."""
    pip = [sys.executable, "-m", "pip", "--python", programs / "python", "--disable-pip-version-check"]
    done = subprocess.run([*map(str, [*pip, "install", "--quiet", *arguments])], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
