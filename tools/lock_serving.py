"""Write deploy/requirements.txt: every package of the serving image with the SHA-256 sums of its files.

deploy/requirements-build.txt is the same for the tools that build the wheel.

    python tools/lock_serving.py

It needs `uv` (pip install uv), which resolves without downloading packages, and the package index that pip uses.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "deploy" / "requirements.txt"
BUILD_LOCK = ROOT / "deploy" / "requirements-build.txt"
PYTHON = "3.12"  # of the image
HEAD = "# Made by tools/lock_serving.py from pyproject.toml and constraints.txt; do not edit.\n"


def main() -> int:
    LOCK.write_text(HEAD + "".join(split(resolved("pyproject.toml", "--extra", "serve"))))
    requires = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    BUILD_LOCK.write_text(HEAD + "".join(split(resolved("-", stdin="\n".join(requires)))))
    print(f"written: {LOCK}, {BUILD_LOCK}")
    return 0


def resolved(*source: str, stdin: str | None = None) -> str:
    """Return the lock of the requirements in `source` as uv writes it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "lock.txt"
        command = ["uv", "pip", "compile", *source, "-c", "constraints.txt"]
        command += ["--generate-hashes", "--python-version", PYTHON, "--python-platform", "x86_64-manylinux_2_28"]
        command += ["--no-config", "--no-header", "--no-annotate", "--quiet", "--output-file", str(out)]
        subprocess.run(command, cwd=ROOT, check=True, input=stdin, text=True)
        return out.read_text()


def split(lock: str) -> list[str]:
    """Return the lines of each package: its pinned version and the sums below it."""
    return re.findall(r"^[a-z0-9][^\n]*\n(?:[ \t][^\n]*\n)*", lock, re.M)


if __name__ == "__main__":
    sys.exit(main())
