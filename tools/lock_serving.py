"""Write deploy/requirements.txt: every package of the serving image with the SHA-256 sums of its files.

deploy/requirements-build.txt is the same for the tools that build the wheel.

    python tools/lock_serving.py --torch-wheels FILE

It needs `uv` (pip install uv), which resolves without downloading packages, and the package index that pip uses. The
image uses the CPU build of torch, which has its own index: FILE is the page of torch in that index, saved as HTML.
Without FILE the sums of torch are kept if its version is unchanged.
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
# Packages that only the CUDA build of torch needs.
CUDA = re.compile(r"(nvidia-|cuda-|triton==)")
WHEEL = re.compile(r"torch-([\d.]+\+cpu)-cp312-cp312-manylinux\w*\.whl#sha256=([0-9a-f]{64})")


def main() -> int:
    parser = argparse.ArgumentParser(description="Write deploy/requirements.txt")
    parser.add_argument("--torch-wheels", type=Path, help="saved index page of the CPU builds of torch")
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
    """Return the lines of each package: its pinned version and the sums below it."""
    return re.findall(r"^[a-z0-9][^\n]*\n(?:[ \t][^\n]*\n)*", lock, re.M)


def torch_block(version: str, page: str | None, before: str) -> str:
    """Return the lines of the CPU build of torch, from the page of its index or else from the previous lock."""
    build = f"{version}+cpu"
    if page is not None:
        sums = sorted(digest for found, digest in WHEEL.findall(page.replace("%2B", "+")) if found == build)
        if sums:
            return " \\\n    ".join([f"torch=={build}", *(f"--hash=sha256:{digest}" for digest in sums)]) + "\n"
    kept = [block for block in split(before) if block.split()[0] == f"torch=={build}"]
    if not kept or page is not None:
        sys.exit(
            f"no checksums of torch {build} are known; save its index page of CPU builds and give it as --torch-wheels"
        )
    return kept[0]


if __name__ == "__main__":
    sys.exit(main())
