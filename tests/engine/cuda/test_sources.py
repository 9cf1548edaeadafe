"""The CUDA sources: they compile, and Python has their structures and sizes."""

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from fansrec.engine.cuda import driver, sizes, structures
from fansrec.engine.cuda.hybrid.structures import HYBRID_STRUCTURES
from fansrec.engine.cuda.linear import packing as linear
from fansrec.engine.cuda.packing import Packed, PackedSasRec
from fansrec.engine.cuda.sizes import KernelConstants
from fansrec.engine.native.compile import find_compiler
from fansrec.engine.native.structures import layout_assertions
from fansrec.models.registry import build

SOURCES = Path(driver.__file__).parent
STARTS = (0, 300, 301, 500, 1000)
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "two-stage": ("fans", {}),
    "vanilla without categories": ("fans", {"classifier": "vanilla", "use_categories": False}),
    "four heads": ("fans", {"heads": 4, "layers": 2}),
    "wide": ("fans", {"width": 128, "feedforward": 512}),
    "bert4rec": ("bert4rec", {}),
    "sasrec": ("sasrec", {}),
    "wide sasrec": ("sasrec", {"width": 128, "heads": 4, "use_categories": False}),
}
HOST = """
#include <cstdio>
#define __device__
#define __forceinline__
#define __shared__
#define __align__(bytes)
struct uint4; struct float2 { float x, y; }; struct int2;
"""
PRINT_SIZES = """
unsigned char memory[1 << 22];
long bytes_to(const void *end) { return reinterpret_cast<const unsigned char *>(end) - memory; }
int main() {
    for (int tiles = 1; tiles <= 40; tiles++) {
        const Shared s = divide_memory(tiles);
        std::printf("%ld ", bytes_to(s.v + HEAD * s.v_row));
    }
    for (int blocks = 1000; blocks <= 32000; blocks += 31000)
        for (int k = 0; k <= 512; k++) {
            const SelectionState state = selection_state(blocks, k, k);
            const int *end = state.further ? state.further + further_slots(blocks, k) : state.first + FIRST * k;
            std::printf("%ld ", bytes_to(end));
        }
    std::printf("%d", VECTORS);
}
"""
HYBRID_MACROS = {
    **{"WIDTH": 64, "HEADS": 4, "FEEDFORWARD": 256, "LAYERS": 2, "CATEGORIES": 10, "TWO_STAGE": 1, "SEGMENTED": 1},
    **{"EMBED_CATEGORIES": 1, "TIED": 1, "CAUSAL": 1, "READ_NEXT": 1, "READ_MASKS": 3, "READ_CATEGORIES": 3},
    "TEAM": sizes.CLUSTER,
    "SASREC": 0,
    "RAW_SUMS": 0,
}
PRINT_HYBRID_SIZES = """
unsigned char memory[1 << 22];
int warp_id() { return 0; }
long bytes_to(const void *end) { return reinterpret_cast<const unsigned char *>(end) - memory; }
int main() {
    for (int tiles = 1; tiles <= 40; tiles++) {
        const Shared s = divide_memory(tiles);
        std::printf("%ld ", bytes_to(s.v + HALVES * HEAD * s.v_row));
    }
    LookupScratch scratch = {};
    for (int linear = 0; linear < 2; linear++)
        std::printf("%ld ", bytes_to(lookup_memory(100, scratch, 1003, linear).items + 100));
    scratch.votes = reinterpret_cast<long long *>(memory);
    std::printf("%ld ", bytes_to(lookup_memory(100, scratch, 1003, true).items + 100));
    std::printf("%ld ", bytes_to(blend_memory().log_sums + READ_CATEGORIES * READ_ROWS));
    std::printf("%ld ", bytes_to(arrange_memory(50).expected + 50));
}
"""
cpp = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")


def model_and_macros(name: str) -> tuple[Any, Packed, dict[str, int]]:
    kind, values = MODELS[name]
    model = build(kind, {"category_starts": STARTS, "positions": 60} | values)
    packed = (PackedSasRec if kind == "sasrec" else Packed)(model, torch.device("cpu"))
    return model, packed, sizes.macros(model, packed.two_stage, packed.categories_known)


def host_source(macros: dict[str, int], *names: str) -> str:
    """Return the named sources as plain C++."""
    defines = "".join(f"#define {name} {value}\n" for name, value in macros.items())
    return HOST + defines + "".join((SOURCES / f"{name}.cuh").read_text() for name in names)


def compile_on_host(text: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    source = folder / "source.cpp"
    source.write_text(text)
    command = [*str(find_compiler()).split(), "-std=c++17", *options, str(source)]
    return subprocess.run(command, capture_output=True, text=True)


@cpp
def test_structures_have_the_offsets_and_sizes_of_the_kernels_own(tmp_path: Path) -> None:
    text = host_source({}, "structures").replace("[INLINE]", f"[{sizes.INLINE}]")
    right = compile_on_host(text + layout_assertions(structures.STRUCTURES), tmp_path, "-fsyntax-only")
    assert right.returncode == 0, right.stderr
    fields = list(structures.Request._fields_)
    fields[3], fields[4] = fields[4], fields[3]  # `lists` and `length` have the same size
    swapped = type("Request", (ctypes.Structure,), {"_fields_": fields})
    wrong = compile_on_host(text + layout_assertions([swapped]), tmp_path, "-fsyntax-only")
    assert wrong.returncode != 0
    assert "Request, lists" in wrong.stderr


@cpp
@pytest.mark.parametrize("name", MODELS)
def test_shared_memory_sizes_are_those_of_the_kernels(name: str, tmp_path: Path) -> None:
    _, packed, macros = model_and_macros(name)
    text = host_source(macros, "sizes", "structures", "shared_memory") + PRINT_SIZES
    program = tmp_path / "sizes"
    compiled = compile_on_host(text, tmp_path, "-o", str(program))
    assert compiled.returncode == 0, compiled.stderr
    printed = [int(number) for number in subprocess.check_output([str(program)], text=True).split()]
    kernel = KernelConstants(macros)
    encode = [kernel.call("encode_bytes", tiles) for tiles in range(1, 41)]
    decide = [kernel.call("decide_bytes", blocks, k) for blocks in (1000, 32000) for k in range(513)]
    assert printed == [*encode, *decide, packed.vectors.numel()]


@cpp
def test_hybrid_structures_have_the_offsets_and_sizes_of_the_kernels_own(tmp_path: Path) -> None:
    text = host_source({}, "structures", "hybrid/structures").replace("[INLINE]", f"[{sizes.INLINE}]")
    right = compile_on_host(text + layout_assertions(HYBRID_STRUCTURES), tmp_path, "-fsyntax-only")
    assert right.returncode == 0, right.stderr


@cpp
@pytest.mark.parametrize("halves", [1, 2])
def test_hybrid_shared_memory_is_large_enough(halves: int, tmp_path: Path) -> None:
    macros = HYBRID_MACROS | {"HALVES": halves}
    sources = ("sizes", "structures", "shared_memory", "hybrid/structures")
    hybrid = (SOURCES / "hybrid/shared_memory.cuh").read_text()
    main = PRINT_HYBRID_SIZES.replace("int main()", hybrid + "int main()")
    program = tmp_path / "sizes"
    compiled = compile_on_host(host_source(macros, *sources) + main, tmp_path, "-o", str(program))
    assert compiled.returncode == 0, compiled.stderr
    *encode, votes, both, lookup, blend, arrange = map(int, subprocess.check_output([str(program)], text=True).split())
    kernel = KernelConstants(macros)
    assert encode == [kernel.call("encode_bytes", tiles) for tiles in range(1, 41)]
    assert kernel.call("lookup_bytes", 100) - 24 == lookup
    assert [kernel.call("sum_bytes", 1003, parts) for parts in (1, 2)] == [votes - lookup, both - lookup]
    assert kernel.constant("BLEND_BYTES") - 16 == blend
    assert kernel.call("arrange_bytes", 50) == arrange


def test_sizes_are_listed_as_far_as_they_fit() -> None:
    model, packed, macros = model_and_macros("two-stage")
    fitting = sizes.Sizes(macros, packed.blocks.count, 1000, model.longest_sequence())
    assert fitting.encoding[1] < fitting.encoding[-1] <= driver.SHARED_MEMORY
    assert fitting.deciding[1] < fitting.deciding[-1] <= sizes.DECIDE_MEMORY
    assert fitting.longest_answer == sizes.LONGEST_ANSWER
    assert fitting.most_tokens <= (len(fitting.encoding) - 1) * sizes.TILE
    assert sizes.tiles_of(13) == 1
    assert sizes.tiles_of(14) == 2


def test_unreadable_expressions_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be read: 1 << 2"):
        KernelConstants({})._evaluate("1 << 2", {})


def cuda_compiler() -> str | None:
    """Return the CUDA compiler of this machine: nvcc, NVRTC or None."""
    if shutil.which("nvcc"):
        return "nvcc"
    try:
        driver._compiler()
    except OSError:
        return None
    return "nvrtc"


@pytest.mark.long
@pytest.mark.skipif(cuda_compiler() is None, reason="no CUDA compiler")
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize(
    "name", ["two-stage", "vanilla without categories", "bert4rec", "sasrec", "wide sasrec", "hybrid", "linear"]
)
def test_kernels_compile(name: str, architecture: str, tmp_path: Path) -> None:
    """For sm_80, where clusters are missing, the sources compile, and driver.missing() refuses the device."""
    if name == "hybrid":
        text = driver.source(HYBRID_MACROS | {"HALVES": 2}, driver.HYBRID_SOURCES)
    elif name == "linear":
        text = driver.source(linear.MACROS, driver.SPARSE_SOURCES)
    else:
        text = driver.source(model_and_macros(name)[2])
    text += layout_assertions(structures.STRUCTURES)
    if cuda_compiler() == "nvrtc":
        options = [f"--gpu-architecture={architecture}", "--std=c++17", "-default-device"]
        assert driver._compile(text.encode(), options)
        return
    source = tmp_path / "kernels.cu"
    source.write_text(text)
    command = ["nvcc", f"-arch={architecture}", "-std=c++17", "-cubin", "-o", str(tmp_path / "out"), str(source)]
    compiled = subprocess.run(command, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr
