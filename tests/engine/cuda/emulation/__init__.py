"""The CUDA engine without a GPU: its kernels are compiled as C++ and run by one CPU core (device.h).

Everything but the instructions of the GPU is tested that way: kernels, structures, buffers and launches. It is slow, so
models and lists must be small.
"""

import ctypes
import hashlib
import os
import platform
import re
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from fansrec.engine.cuda import driver, exchange, transfer
from fansrec.engine.cuda.hybrid import launcher
from fansrec.engine.native.compile import find_compiler

FOLDER = Path(__file__).parent
CLUSTERED = {"encode_one", "encode_many"}
TEAMED = {"look_up", "blend", "arrange"}
GRID = 16  # blocks that share a single list
REPLACED = {  # shared memory, which belongs to a block
    "extern __shared__ __align__(16) unsigned char memory[];": "",
    "(memory)": "(emulation::memory())",
    "__shared__ Scratch s;": "Scratch &s = *reinterpret_cast<Scratch *>(emulation::current().block->statics.data());",
    "__shared__ Units units;": "Units &units = *reinterpret_cast<Units *>(emulation::current().block->statics.data());",
}
KERNEL = re.compile(r'extern "C" __global__ void .*?\b(\w+)\(const __grid_constant__', re.S)
_libraries = Path(tempfile.gettempdir()) / "fansrec-emulation"


def why_not_here() -> str | None:
    """Return why this machine cannot run the emulation, in one line, or None if it can."""
    if find_compiler() is None:
        return "no C++ compiler, which the emulation of the CUDA kernels needs; install g++ or clang"
    if platform.machine() not in ("x86_64", "AMD64"):
        return "the emulation of the CUDA kernels switches between threads with x86-64 instructions"
    return None


def emulated_source(macros: dict[str, int], sources: Sequence[str]) -> str:
    """Return the kernels as C++, with a function `emulated_NAME` for each."""
    names = [name for name in sources if name != "instructions"]
    text = driver.source(macros, names)
    for cuda, emulated in REPLACED.items():
        text = text.replace(cuda, emulated)
    text = '#include "instructions.h"\n' + text
    for name in KERNEL.findall(text):
        size = "CLUSTER" if name in CLUSTERED else "TEAM" if name in TEAMED else "1"
        text += (
            f'extern "C" int emulated_{name}(void **arguments, int columns, int rows, int threads, int shared) {{\n'
            f"    return emulation::launch({name}, arguments, columns, rows, threads, shared, {size});\n}}\n"
        )
    return text


def compiled(macros: dict[str, int], sources: Sequence[str]) -> ctypes.CDLL:
    """Return the kernels as a library; it is compiled once for each source."""
    text = emulated_source(macros, sources)
    headers = "".join((FOLDER / name).read_text() for name in ("device.h", "instructions.h"))
    name = hashlib.sha256((text + headers).encode()).hexdigest()[:24]
    library = _libraries / f"{name}.so"
    if not library.exists():
        _libraries.mkdir(exist_ok=True)
        source = library.with_suffix(f".{os.getpid()}.cpp")
        source.write_text(text)
        options = [
            "-std=c++20",
            "-O2",
            "-march=native",
            "-fno-strict-aliasing",
            "-w",
            "-shared",
            "-fPIC",
            f"-I{FOLDER}",
        ]
        part = library.with_suffix(f".{os.getpid()}.part")  # other processes may compile the same source
        subprocess.run([*str(find_compiler()).split(), *options, "-o", str(part), str(source)], check=True)
        part.rename(library)
    return ctypes.CDLL(str(library))


class EmulatedKernel:
    def __init__(self, function: Any, arguments: list[ctypes.Structure], threads: int) -> None:
        self._kept, self._function, self._threads = arguments, function, threads
        self._pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(a) for a in arguments))
        self.launch = SimpleNamespace(stream=0)

    def start(self, columns: int, rows: int, shared: int) -> None:
        if not self._function(self._pointers, columns, rows, self._threads, shared):
            raise AssertionError("the threads of a kernel wait for each other forever")


class EmulatedProgram:
    """Replaces driver.Program."""

    def __init__(self, macros: dict[str, int], device: torch.device, sources: Sequence[str] = driver.SOURCES) -> None:
        self._library = compiled(macros, sources)

    def kernel(
        self, name: str, arguments: list[ctypes.Structure], threads: int, most_shared: int, together: bool = False
    ) -> EmulatedKernel:
        return EmulatedKernel(self._library[f"emulated_{name}"], arguments, min(threads, 256))

    def enter(self) -> None:
        pass


def emulate_gpu(patch: pytest.MonkeyPatch) -> None:
    """Let the CUDA engine run on the CPU."""
    patch.setattr(driver, "Program", EmulatedProgram)
    patch.setattr(driver, "wait", lambda stream: None)
    patch.setattr(launcher, "grid_blocks", lambda device: GRID)
    for module in (exchange, transfer):
        patch.setattr(module, "pinned", lambda size: torch.zeros(size, dtype=torch.int32))
    event = SimpleNamespace(record=lambda stream: None, synchronize=lambda: None)
    patch.setattr(torch.cuda, "Event", lambda: event)
    patch.setattr(torch.cuda, "Stream", lambda device: SimpleNamespace(cuda_stream=0))
    patch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    patch.setattr(torch.cuda, "synchronize", lambda device: None)
