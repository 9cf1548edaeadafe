"""The parts of CUDA's run-time compiler and driver that the engine needs, through ctypes.

Kernels are compiled for the sizes of a model when it is loaded. NVRTC comes with every CUDA build of torch, so no
compiler need be installed.
"""

import ctypes
import hashlib
import os
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from fansrec.errors import BadSetting
from fansrec.files import write_bytes

# Sources in the order in which they build on each other.
COMMON = (
    *("sizes", "structures", "shared_memory", "instructions", "primitives", "request", "attention"),
    *("embedding", "encoder"),
)
SOURCES = (*COMMON, "compare", "head", "block_search", "shortlist", "selection")
SPARSE = (
    *("hybrid/team", "hybrid/threshold", "hybrid/score_order", "hybrid/neighbors", "hybrid/look_up"),
    *("hybrid/tied_classifier", "hybrid/blend"),
)
HYBRID_SOURCES = (
    *(*COMMON, "hybrid/structures", "hybrid/shared_memory", "hybrid/states"),
    *(*SPARSE, "hybrid/arrange"),
)
SPARSE_SOURCES = (  # of linear models alone, and of one list that a whole grid shares: without the encoder
    *("sizes", "structures", "shared_memory", "instructions", "primitives", "request"),
    *("hybrid/structures", "hybrid/shared_memory", *SPARSE),
)
DYNAMIC_SHARED_MEMORY = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
SHARED_MEMORY = 227 * 1024  # bytes that a block of threads needs
EARLY_START = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
TOGETHER = 2  # CU_LAUNCH_ATTRIBUTE_COOPERATIVE
CLUSTER_CAPABILITY = (9, 0)  # the lowest compute capability with clusters of blocks

_entered = threading.local()


class Attribute(ctypes.Structure):
    _fields_ = (("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_int), ("rest", ctypes.c_int * 15))


class Launch(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint) for name in ("columns", "rows", "layers", "threads", "no", "depth", "shared")),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("attribute_count", ctypes.c_uint),
    )


class Kernel:
    """A compiled kernel and its arguments: structures whose fields may change between launches.

    It may start before the previous kernel has ended, and waits for it itself (`wait_for_previous_kernel`). If the
    blocks of its grid wait for each other, all have to run at the same time (`together`).
    """

    def __init__(
        self, handle: Any, arguments: list[ctypes.Structure], threads: int, most_shared: int, together: bool = False
    ) -> None:
        _check(_driver().cuFuncSetAttribute(handle, DYNAMIC_SHARED_MEMORY, most_shared))
        attributes = (Attribute * 2)(Attribute(EARLY_START, 0, 1), Attribute(TOGETHER, 0, 1))
        self._kept = arguments, attributes
        count = 2 if together else 1
        self.launch = Launch(1, 1, 1, threads, 1, 1, 0, None, ctypes.addressof(attributes), count)
        parameters = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(a) for a in arguments))
        self._call = _driver().cuLaunchKernelEx, ctypes.byref(self.launch), handle, parameters

    def start(self, columns: int, rows: int, shared: int) -> None:
        launch = self.launch
        launch.columns, launch.rows, launch.shared = columns, rows, shared
        launch_kernel, configuration, handle, parameters = self._call
        if status := launch_kernel(configuration, handle, parameters, None):
            _check(status)


class Program:
    """All kernels, compiled for the sizes of one model."""

    def __init__(self, macros: dict[str, int], device: torch.device, sources: Sequence[str] = SOURCES) -> None:
        self.context, self._module = ctypes.c_void_p(), ctypes.c_void_p()
        with torch.cuda.device(device):
            torch.zeros(1, device=device)  # creates torch's context, which is used here, too
            _check(_driver().cuCtxGetCurrent(ctypes.byref(self.context)))
            _check(_driver().cuModuleLoadData(ctypes.byref(self._module), _compiled(source(macros, sources), device)))

    def kernel(
        self, name: str, arguments: list[ctypes.Structure], threads: int, most_shared: int, together: bool = False
    ) -> Kernel:
        handle = ctypes.c_void_p()
        _check(_driver().cuModuleGetFunction(ctypes.byref(handle), self._module, name.encode()))
        return Kernel(handle, arguments, threads, most_shared, together)

    def enter(self) -> None:
        """Make torch's context the current one of this thread."""
        if getattr(_entered, "context", None) != self.context.value or torch.cuda.device_count() > 1:
            _check(_driver().cuCtxSetCurrent(self.context))
            _entered.context = self.context.value


def wait(stream: int) -> None:
    if status := _driver().cuStreamSynchronize(stream):
        _check(status)


def missing() -> str | None:
    """Return why this machine cannot run the kernels, in one line, or None if it can."""
    if not torch.cuda.is_available():
        return "torch sees no CUDA device"
    properties = torch.cuda.get_device_properties()
    if torch.cuda.get_device_capability() < CLUSTER_CAPABILITY:
        return f"{properties.name} cannot run clusters of blocks (compute capability 9.0)"
    if getattr(properties, "shared_memory_per_block_optin", SHARED_MEMORY) < SHARED_MEMORY:
        return f"{properties.name} has too little shared memory"
    try:
        _compiler()
        _driver()
    except (OSError, AttributeError) as error:  # ctypes raises AttributeError for a function that an old driver lacks
        return f"CUDA's run-time compiler could not be loaded ({error})"
    return None


def source(macros: dict[str, int], sources: Sequence[str] = SOURCES) -> str:
    """Return the source of all kernels for the sizes of one model."""
    folder = Path(__file__).parent
    defines = "".join(f"#define {name} {value}\n" for name, value in macros.items())
    return defines + "\n".join((folder / f"{name}.cuh").read_text() for name in sources)


def _compiled(text: str, device: torch.device) -> bytes:
    """Return the machine code of a source, from the cache if it is unchanged."""
    major, minor = torch.cuda.get_device_capability(device)
    options = [f"--gpu-architecture=sm_{major}{minor}", "--std=c++17", "-default-device"]
    key = hashlib.sha256("\0".join([text, *options, str(torch.version.cuda)]).encode()).hexdigest()
    cached = _cache_folder() / f"{key[:32]}.cubin"
    if cached.exists():
        return cached.read_bytes()
    code = _compile(text.encode(), options)
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(cached, code)
    except OSError:
        pass  # without a cache, the next start takes a second longer
    return code


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fansrec"


def _compile(text: bytes, options: list[str]) -> bytes:
    nvrtc, program = _compiler(), ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"fansrec.cu", 0, None, None)
    flags = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    failed = nvrtc.nvrtcCompileProgram(program, len(options), flags)
    if failed:
        log = _read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        raise BadSetting(f"the GPU kernels could not be compiled: {log.decode()}")
    return _read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)


def _read(size_of: Any, copy: Any, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    size_of(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    copy(program, buffer)
    return buffer.raw


@cache
def _driver() -> Any:
    driver = ctypes.CDLL("libcuda.so.1")
    driver.cuLaunchKernelEx.argtypes = [ctypes.c_void_p] * 4
    driver.cuFuncSetAttribute.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    driver.cuModuleGetFunction.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p]
    driver.cuModuleLoadData.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    driver.cuStreamSynchronize.argtypes = [ctypes.c_void_p]
    driver.cuCtxSetCurrent.argtypes = [ctypes.c_void_p]
    return driver


@cache
def _compiler() -> Any:
    """Load the NVRTC of torch or of the system."""
    major = (torch.version.cuda or "0").split(".")[0]
    name = f"libnvrtc.so.{major}"
    packages = Path(torch.__file__).parent.parent
    paths = [*packages.glob(f"nvidia/*/lib/{name}"), *packages.glob(f"torch/lib/{name}*")]
    paths += [Path(f"/usr/local/cuda/lib64/{name}")]
    for path in paths:
        if path.exists():
            return ctypes.CDLL(str(path))
    return ctypes.CDLL(name)


def _check(status: int) -> None:
    if status:
        text = ctypes.c_char_p()
        _driver().cuGetErrorString(status, ctypes.byref(text))
        raise RuntimeError(f"CUDA: {(text.value or b'error').decode()} ({status})")
