"""Compile the native kernel: one shared library for each instruction set. `python -m fansrec.engine.native.compile`.

`--strict` makes warnings errors, for development. `--sanitized FOLDER` writes slow libraries with sanitizers and range
checks to FOLDER; fansrec uses them if FANS_NATIVE_FOLDER=FOLDER, in a Python process that preloads the compiler's
sanitizers (tests/sanitizers.py).

The build of the package runs this module (hatch_build.py); an installation without a compiler works without the kernel.
It uses the standard library only, since nothing else is installed when a package is built.
"""

import argparse
import os
import platform
import runpy
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
COMMON = ["-std=c++17", "-O3", "-fno-math-errno", "-fvisibility=hidden", "-fPIC", "-shared", "-pthread"]
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mprefer-vector-width=512"]
X86 = {
    "portable": [],
    "avx2": ["-mavx2", "-mfma"],
    "avx512": AVX512,
    "vnni": [*AVX512, "-mavx512vnni"],  # AVX-512 with products of integers
}
STRICT = ["-Wall", "-Wextra", "-Werror"]  # development builds only: other compilers may have other warnings
SANITIZED = [
    *("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "-DFANS_CHECKED",  # compares every index from the arrays of a model with its range
]


def library_path(instructions: str) -> Path:
    """Return the path of the library for an instruction set: beside its sources, or in FANS_NATIVE_FOLDER."""
    return Path(os.environ.get("FANS_NATIVE_FOLDER") or HERE) / f"libfans-{instructions}.so"


def compile_kernel(folder: Path | None = None, more: Sequence[str] = ()) -> str | None:
    """Compile the libraries into `folder`, by default beside their sources; return the error in one line, or None.

    `more` are further options of the compiler.
    """
    target = folder or HERE
    for old in target.glob("libfans-*.so"):  # compiled from other sources, or by another compiler
        old.unlink()
    compiler = find_compiler()
    if compiler is None:
        return "no C++ compiler"
    variants = X86 if platform.machine() in ("x86_64", "AMD64") else {"portable": []}
    with ThreadPoolExecutor(min(len(variants), os.cpu_count() or 1)) as pool:
        errors = list(pool.map(lambda name: _compile(compiler, target, name, [*variants[name], *more]), variants))
    return next((error for error in errors if error), None)


def find_compiler() -> str | None:
    """Return the command of the C++ compiler, or None where there is none."""
    return os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)


def layout_source() -> str:
    """Return C++ that asserts the layout of structures.py, and by whose function library.py finds old libraries."""
    structures = runpy.run_path(str(Path(__file__).with_name("structures.py")))
    function = f'EXPORTED const char* fans_layout() {{ return "{structures["LAYOUT"]}"; }}'
    return f'#include "call.h"\n#include "item_ids.h"\n{structures["ASSERTIONS"]}{function}\n'


def _compile(compiler: str, folder: Path, name: str, flags: list[str]) -> str | None:
    """Compile one library, under a temporary name until it is complete."""
    target = folder / f"libfans-{name}.so"
    unfinished = target.with_suffix(f".{os.getpid()}.tmp")
    sources = sorted(str(path) for path in HERE.glob("*.cpp"))
    try:
        command = [*compiler.split(), *COMMON, *flags, f"-I{HERE}", *sources, "-x", "c++", "-", "-o", str(unfinished)]
        subprocess.run(command, input=layout_source(), check=True, capture_output=True, text=True)
        unfinished.replace(target)
        return None
    except (OSError, subprocess.CalledProcessError) as error:
        unfinished.unlink(missing_ok=True)
        target.unlink(missing_ok=True)
        sys.stderr.write(getattr(error, "stderr", None) or "")
        return f"{compiler} failed ({error})" if isinstance(error, OSError) else f"{compiler} failed"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sanitized", type=Path, metavar="FOLDER", help="existing folder for libraries with sanitizers"
    )
    parser.add_argument("--strict", action="store_true", help="treat warnings of the compiler as errors")
    options = parser.parse_args()
    strict = STRICT if options.strict else []
    sys.exit(compile_kernel(options.sanitized, [*strict, *(SANITIZED if options.sanitized else [])]))
