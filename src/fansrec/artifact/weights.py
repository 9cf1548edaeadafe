"""The header of a weights file, compared with what the model declares before any memory is allocated."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open

LARGEST_HEADER = 8 << 20  # bytes: room for 50,000 tensors and more
TYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}

Outline = dict[str, tuple[str, tuple[int, ...]]]  # type and shape of every tensor, by name


def outline_of(model: torch.nn.Module) -> Outline:
    """Return what a model's weights must look like; the model may be on the meta device."""
    state: Mapping[str, torch.Tensor] = model.state_dict()
    return {name: (TYPES.get(w.dtype, str(w.dtype)), tuple(w.shape)) for name, w in state.items()}


def check_header(path: Path, expected: Outline) -> None:
    """Raise ValueError if the tensors of a file are not the expected ones in name, type and shape; none is read."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
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


def _outline(path: Path) -> Outline:
    with safe_open(path, framework="pt") as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        return {name: (each.get_dtype(), tuple(each.get_shape())) for name, each in slices.items()}


def _text(kind: tuple[str, tuple[int, ...]]) -> str:
    return f"{kind[0]} {list(kind[1])}"
