"""Checks of a model's arrays after they were read from a file, before anything uses them as indices.

`check_model` is called after a model is read. It checks what holds for all models, then calls `check_arrays()` of every
module that has one: a module that uses an array as an index, or relies on its order, checks it there with the functions
below. They read each array once and copy nothing of its size.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from fansrec.errors import BadArtifact

AT_ONCE = 1 << 22  # elements that are checked at once if the sum of an array is not finite


def check_model(model: nn.Module) -> None:
    """Raise BadArtifact, with the name of the array, if an array of a model cannot be used."""
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
    """Raise BadArtifact if a tensor has numbers that are not finite, or is not aligned to the size of its elements."""
    if tensor.data_ptr() % tensor.itemsize:
        raise BadArtifact(f"{name} is not aligned in the file")
    # A sum is several times as fast as checking every element.
    if not tensor.is_floating_point() or math.isfinite(float(tensor.detach().sum())):
        return
    flat = tensor.detach().flatten()  # the sum of finite numbers may overflow
    parts = (flat[first : first + AT_ONCE] for first in range(0, len(flat), AT_ONCE))
    if not all(bool(torch.isfinite(part).all()) for part in parts):
        raise BadArtifact(f"{name} has numbers that are not finite")


def check_indices(name: str, indices: Tensor, end: int) -> int:
    """Return the highest value of an int32 array, or -1; raise BadArtifact unless all are from 0 to `end` - 1."""
    if not indices.numel():
        return -1
    highest = int(indices.numpy().view("uint32").max())  # a negative number reads as a very large one
    if highest >= end:
        raise BadArtifact(f"{name} has an index outside 0 to {end - 1:,}")
    return highest


def check_offsets(name: str, offsets: Tensor, length: int) -> None:
    """Raise BadArtifact unless offsets start at 0, never decrease and end at `length`."""
    values = offsets.numpy()
    if not len(values) or values[0] != 0 or values[-1] != length or bool((values[1:] < values[:-1]).any()):
        raise BadArtifact(f"{name} does not increase from 0 to {length:,}, the length of the array that it divides")
