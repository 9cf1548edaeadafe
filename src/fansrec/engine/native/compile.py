"""Compile the native kernel: one shared library for each instruction set. `python -m fansrec.engine.native.compile`.

The package's build runs this (hatch_build.py), and an installation without a compiler goes on without it. Standard
library only, since nothing else is there when a package is built.
"""

import os
import platform
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
COMMON = ["-std=c++17", "-O3", "-fno-math-errno", "-fvisibility=hidden", "-fPIC", "-shared", "-pthread"]
X86 = {
    "portable": [],
    "avx2": ["-mavx2", "-mfma", "-mf16c"],
    "avx512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mprefer-vector-width=512"],
}


def library_path(instructions: str) -> Path:
    return HERE / f"libfans-{instructions}.so"


def compile_kernel() -> str | None:
    """Make the libraries beside their sources; what went wrong, in a line, or None."""
    for old in HERE.glob("*.so"):  # made from other sources, or by another compiler
        old.unlink()
    compiler = os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)
    if compiler is None:
        return "no C++ compiler"
    variants = X86 if platform.machine() in ("x86_64", "AMD64") else {"portable": []}
    with ThreadPoolExecutor(min(len(variants), os.cpu_count() or 1)) as pool:
        faults = list(pool.map(lambda name: _compile(compiler, name, variants[name]), variants))
    return next((fault for fault in faults if fault), None)


def _compile(compiler: str, name: str, flags: list[str]) -> str | None:
    """Under a temporary name until it is whole."""
    target = library_path(name)
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
    sys.exit(compile_kernel())
