"""The file of weights: its header is compared with what the model declares before any memory is allocated."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from fansrec.models.outlines import Outline

LARGEST_HEADER = 8 << 20  # bytes: room for 50,000 tensors and more
LENGTH_BYTES = 8  # of the number before the header
# Types of the models that need no torch.
TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "I32": np.dtype("<i4"), "I64": np.dtype("<i8")}


def check_header(path: Path, expected: Outline) -> None:
    """Raise ValueError if the tensors of a file are not the expected ones in name, type and shape; none is read."""
    size = _header_size(path)
    if size > LARGEST_HEADER:
        raise ValueError(f"{path.name} has a header of {size:,} bytes; at most {LARGEST_HEADER:,} are allowed")
    found = _outline(path)
    if missing := sorted(expected.keys() - found.keys()):
        raise ValueError(f"{path.name} does not have the tensor {missing[0]!r}")
    if more := sorted(found.keys() - expected.keys()):
        raise ValueError(f"{path.name} has a tensor {more[0]!r:.80} that the model does not have")
    for name, kind in expected.items():
        if found[name] != kind:
            raise ValueError(f"{name} in {path.name} is {_text(found[name])} and must be {_text(kind)}")


def map_arrays(path: Path, outline: Outline) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file whose header was checked, by name; of the header only the offsets are used.

    They are the mapped file, of which nothing is copied: pages are read when they are first used, and all processes
    share them. The mapping is private, so that a write to an array changes a copy of that page and never the file.
    """
    mapped = np.memmap(path, np.uint8, mode="c")
    start = LENGTH_BYTES + _header_size(path)
    header = json.loads(bytes(mapped[LENGTH_BYTES:start]))
    arrays = {}
    for name, (kind, shape) in outline.items():
        (first, last), dtype = header[name]["data_offsets"], TYPES[kind]
        size = math.prod(shape) * dtype.itemsize
        if not 0 <= first <= len(mapped) - start - size or last - first != size:  # numpy does not check all of this
            raise ValueError(f"{name} in {path.name} has the offsets {first} and {last}; it takes {size:,} bytes")
        arrays[name] = np.ndarray(shape, dtype, mapped, start + first)
    return arrays


def _header_size(path: Path) -> int:
    with path.open("rb") as file:
        return int.from_bytes(file.read(LENGTH_BYTES), "little")


def _outline(path: Path) -> Outline:
    with safe_open(path, framework="np") as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        return {name: (each.get_dtype(), tuple(each.get_shape())) for name, each in slices.items()}


def _text(kind: tuple[str, tuple[int, ...]]) -> str:
    return f"{kind[0]} {list(kind[1])}"
