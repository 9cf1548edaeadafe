"""Run Python with a native kernel that is built with the address and undefined-behavior sanitizers."""

import os
import subprocess
from pathlib import Path

from fansrec.engine.native import compile as native_compile

RUNTIMES = ("libasan.so", "libubsan.so")
TESTS = Path(__file__).parent


def why_not() -> str | None:
    """Return why sanitized libraries cannot be built and run here, in one line, or None if they can."""
    compiler = native_compile.find_compiler()
    if compiler is None:
        return "no C++ compiler"
    absent = [name for name in RUNTIMES if not _runtime(compiler, name).is_file()]
    return f"{compiler} has no {', '.join(absent)}" if absent else None


def build(folder: Path) -> None:
    """Compile the sanitized libraries into `folder`, unless those there are newer than their sources."""
    sources = [path for path in native_compile.HERE.iterdir() if path.suffix in (".cpp", ".h", ".py")]
    newest = max(path.stat().st_mtime for path in sources)
    built = list(folder.glob("*.so"))
    if built and min(path.stat().st_mtime for path in built) > newest:
        return
    folder.mkdir(parents=True, exist_ok=True)
    error = native_compile.compile_kernel(folder, native_compile.SANITIZED)
    assert error is None, error


def environment(folder: Path) -> dict[str, str]:
    """Return the environment in which Python uses the libraries of `folder`."""
    compiler = native_compile.find_compiler()
    assert compiler is not None
    return os.environ | {
        "LD_PRELOAD": " ".join(str(_runtime(compiler, name)) for name in RUNTIMES),
        # Python itself leaks at exit; allocations that fail shall be refused as without sanitizers; the stack that GCC
        # 13 makes to detect uses after return is not aligned for vectors of 64 bytes, so that sound code would fault.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:abort_on_error=1:detect_stack_use_after_return=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:abort_on_error=1",
        "FANS_NATIVE_FOLDER": str(folder),
        "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
    }


def _runtime(compiler: str, name: str) -> Path:
    command = [*compiler.split(), f"-print-file-name={name}"]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
