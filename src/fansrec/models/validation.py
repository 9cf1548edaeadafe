"""Checks of a model's arrays after they were read from a file, before anything uses them as indices.

`check_model` is called by whatever reads a model. It checks what holds for all models, then calls `check_arrays()` of
every module that has one: a module that uses an array as an index, or relies on its order, checks it there with the
functions below. They look at each array once and copy nothing of its size.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from fansrec.errors import BadArtifact

AT_ONCE = 1 << 22  # numbers looked at again, one by one, where a sum is not finite


def check_model(model: nn.Module) -> None:
    """Raise BadArtifact, with the name of the array, unless all arrays of a model can be used."""
    for name, tensor in model.state_dict().items():
        check_tensor(name, tensor)
    for place, module in model.named_modules():
        check: Any = getattr(module, "check_arrays", None)
        if check is None:
            continue
        try:
            check()
        except BadArtifact as error:
            raise BadArtifact(f"{place}.{error}" if place else str(error)) from error


def check_tensor(name: str, tensor: Tensor) -> None:
    """Refuse what no module could use: numbers that are not finite, or that do not lie at multiples of their size."""
    if tensor.data_ptr() % tensor.itemsize:
        raise BadArtifact(f"{name} is not aligned in the file")
    check_finite(name, tensor)


def check_finite(name: str, tensor: Tensor) -> None:
    """Refuse NaN and infinity; a sum finds them several times as fast as a comparison of every number."""
    if not tensor.is_floating_point() or math.isfinite(float(tensor.detach().sum())):
        return
    flat = tensor.detach().flatten()  # the sum of finite numbers may be infinite
    parts = (flat[first : first + AT_ONCE] for first in range(0, len(flat), AT_ONCE))
    if not all(bool(torch.isfinite(part).all()) for part in parts):
        raise BadArtifact(f"{name} holds numbers that are not finite")


def check_indices(name: str, indices: Tensor, end: int) -> int:
    """Refuse an int32 array whose values are not all from 0 to `end` - 1; return the highest of them, or -1."""
    if not indices.numel():
        return -1
    highest = int(indices.numpy().view("uint32").max())  # a negative number reads as a very large one
    if highest >= end:
        raise BadArtifact(f"{name} holds an index outside 0 to {end - 1:,}")
    return highest


def check_offsets(name: str, offsets: Tensor, length: int) -> None:
    """Refuse offsets into an array of `length` that do not begin at 0, fall anywhere, or do not end at `length`."""
    values = offsets.numpy()
    if not len(values) or values[0] != 0 or values[-1] != length or bool((values[1:] < values[:-1]).any()):
        raise BadArtifact(f"{name} does not rise from 0 to {length:,}, the length of what it divides")
