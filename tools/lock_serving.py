"""Write deploy/requirements.txt: every package of the serving image with the SHA-256 sums of its files.

deploy/requirements-build.txt is the same for what builds the wheel.

    python tools/lock_serving.py --torch-wheels FILE

Needs `uv` (pip install uv), which resolves without downloading packages, and the package index that pip uses. The image
takes the CPU build of torch, which its publisher keeps in an index of its own: FILE is that index's page of torch,
saved as HTML. Without it the sums of torch stay as they are, as long as its version does.
"""

import argparse
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
# What only the CUDA build of torch needs.
CUDA = re.compile(r"(nvidia-|cuda-|triton==)")
WHEEL = re.compile(r"torch-([\d.]+\+cpu)-cp312-cp312-manylinux\w*\.whl#sha256=([0-9a-f]{64})")


def main() -> int:
    parser = argparse.ArgumentParser(description="Write deploy/requirements.txt")
    parser.add_argument("--torch-wheels", type=Path, help="saved page of the CPU builds of torch")
    options = parser.parse_args()
    blocks = [block for block in split(resolved("pyproject.toml", "--extra", "serve")) if not CUDA.match(block)]
    version = next(block for block in blocks if block.startswith("torch==")).split()[0].removeprefix("torch==")
    page = options.torch_wheels.read_text() if options.torch_wheels else None
    torch = torch_block(version, page, LOCK.read_text() if LOCK.exists() else "")
    LOCK.write_text(HEAD + "".join(torch if block.startswith("torch==") else block for block in blocks))
    requires = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    BUILD_LOCK.write_text(HEAD + "".join(split(resolved("-", stdin="\n".join(requires)))))
    print(f"written: {LOCK}, {BUILD_LOCK}")
    return 0


def resolved(*source: str, stdin: str | None = None) -> str:
    """Return the lock of the requirements in `source` as uv writes it, with the default build of torch."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "lock.txt"
        command = ["uv", "pip", "compile", *source, "-c", "constraints.txt"]
        command += ["--generate-hashes", "--python-version", PYTHON, "--python-platform", "x86_64-manylinux_2_28"]
        command += ["--no-config", "--no-header", "--no-annotate", "--quiet", "--output-file", str(out)]
        subprocess.run(command, cwd=ROOT, check=True, input=stdin, text=True)
        return out.read_text()


def split(lock: str) -> list[str]:
    """Return the lines of each package: its pin, and the sums below it."""
    return re.findall(r"^[a-z0-9][^\n]*\n(?:[ \t][^\n]*\n)*", lock, re.M)


def torch_block(version: str, page: str | None, before: str) -> str:
    """Return the lines of the CPU build of torch, from the page of its index or else from the lock before."""
    wanted = f"{version}+cpu"
    if page is not None:
        sums = sorted(digest for found, digest in WHEEL.findall(page.replace("%2B", "+")) if found == wanted)
        if sums:
            return " \\\n    ".join([f"torch=={wanted}", *(f"--hash=sha256:{digest}" for digest in sums)]) + "\n"
    kept = [block for block in split(before) if block.split()[0] == f"torch=={wanted}"]
    if not kept or page is not None:
        sys.exit(f"no sums of torch {wanted} are known; save its page of CPU builds and give it with --torch-wheels")
    return kept[0]


if __name__ == "__main__":
    sys.exit(main())
