"""Compile the native kernel: one shared library for each instruction set. `python -m fansrec.engine.native.compile`.

With `--sanitized FOLDER` the libraries go there, slow and full of checks; FANS_NATIVE_FOLDER=FOLDER makes fansrec use
them. Python must then run with the sanitizers of the compiler preloaded: tests/sanitizers.py.

The package's build runs this (hatch_build.py), and an installation without a compiler goes on without it. Standard
library only, since nothing else is there when a package is built.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
COMMON = ["-std=c++17", "-O3", "-fno-math-errno", "-fvisibility=hidden", "-fPIC", "-shared", "-pthread"]
X86 = {
    "portable": [],
    "avx2": ["-mavx2", "-mfma", "-mf16c"],
    "avx512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mprefer-vector-width=512"],
}
SANITIZED = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
CHECKED = "-DFANS_CHECKED"  # every index read from a model's arrays is compared with its range


def library_path(instructions: str) -> Path:
    """Return where the library for an instruction set is: beside its sources, or in FANS_NATIVE_FOLDER."""
    return Path(os.environ.get("FANS_NATIVE_FOLDER") or HERE) / f"libfans-{instructions}.so"


def compile_kernel(folder: Path | None = None, more: Sequence[str] = ()) -> str | None:
    """Make the libraries beside their sources, or in `folder`; what went wrong, in a line, or None.

    `more` are further options of the compiler.
    """
    place = folder or HERE
    for old in place.glob("libfans-*.so"):  # made from other sources, or by another compiler
        old.unlink()
    compiler = find_compiler()
    if compiler is None:
        return "no C++ compiler"
    variants = X86 if platform.machine() in ("x86_64", "AMD64") else {"portable": []}
    with ThreadPoolExecutor(min(len(variants), os.cpu_count() or 1)) as pool:
        faults = list(pool.map(lambda name: _compile(compiler, place, name, [*variants[name], *more]), variants))
    return next((fault for fault in faults if fault), None)


def find_compiler() -> str | None:
    """Return the command of the C++ compiler, or None where there is none."""
    return os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)


def _compile(compiler: str, place: Path, name: str, flags: list[str]) -> str | None:
    """Under a temporary name until it is whole."""
    target = place / f"libfans-{name}.so"
    unfinished = target.with_suffix(f".{os.getpid()}.tmp")
    sources = sorted(str(path) for path in HERE.glob("*.cpp"))
    try:
        command = [*compiler.split(), *COMMON, *flags, *sources, "-o", str(unfinished)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        unfinished.replace(target)
        return None
    except (OSError, subprocess.CalledProcessError) as error:
        unfinished.unlink(missing_ok=True)
        target.unlink(missing_ok=True)
        sys.stderr.write(getattr(error, "stderr", None) or "")
        return f"{compiler} failed ({error})" if isinstance(error, OSError) else f"{compiler} failed"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sanitized", type=Path, metavar="FOLDER", help="an existing folder for checked libraries")
    folder = parser.parse_args().sanitized
    sys.exit(compile_kernel(folder, [*SANITIZED, CHECKED] if folder else []))
