"""A safetensors file as its header and bytes, so that both can be changed into what no library would write."""

import json
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1"}


@dataclass
class Tensors:
    """Tensors by name, in order; `header` is what will be written about each, and `data` its bytes."""

    header: dict[str, dict[str, Any]]
    data: dict[str, bytes]

    def array(self, name: str) -> NDArray[Any]:
        """Return a copy of a tensor, flat."""
        return np.frombuffer(self.data[name], dtype=TYPES[self.header[name]["dtype"]]).copy()

    def put(self, name: str, array: NDArray[Any], dtype: str | None = None) -> None:
        """Replace the bytes of a tensor; its shape stays what the header says."""
        self.data[name] = array.tobytes()
        if dtype is not None:
            self.header[name]["dtype"] = dtype


def read(content: bytes) -> Tensors:
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    names = sorted(header, key=lambda name: header[name]["data_offsets"])
    data = {}
    for name in names:
        start, end = header[name].pop("data_offsets")
        data[name] = content[8 + length + start : 8 + length + end]
    return Tensors({name: header[name] for name in names}, data)


def write(tensors: Tensors) -> bytes:
    """Return the file; offsets follow from the bytes, unless the header has some."""
    header, end = {}, 0
    for name, entry in tensors.header.items():
        start, end = end, end + len(tensors.data.get(name, b""))
        header[name] = {"data_offsets": [start, end]} | entry
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # as the format asks, so that numbers lie where they can be read in place
    return struct.pack("<Q", len(text)) + text + b"".join(tensors.data[name] for name in header if name in tensors.data)
