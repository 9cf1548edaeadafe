"""Checks of a model's arrays after they were read from a file, before anything uses them as indices. Needs no torch.

`check_arrays` checks the arrays of a stored model (stored.py), `check_model` a torch module: what holds for all models,
then `check_arrays()` of every module that has one. A module that uses an array as an index, or relies on its order,
checks it there with the functions below. They read each array once and copy nothing of its size.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fansrec.errors import BadArtifact
from fansrec.models.limits import LIST_LENGTH

if TYPE_CHECKING:
    from torch import Tensor, nn

AT_ONCE = 1 << 22  # elements that are checked at once if the sum of an array is not finite
MEMORY = "memory."  # of the arrays of a list memory
TABLES = ("weights.items", "linear.items")  # the items that item-item weights lead to


def check_arrays(arrays: Mapping[str, NDArray[Any]], items: int) -> None:
    """Raise BadArtifact, with the name of the array, if an array of a stored model of `items` items cannot be used."""
    for name, array in arrays.items():
        check_array(name, array)
    for name in TABLES:
        if name in arrays:
            check_indices(name, arrays[name], items)
    if "tied.prior" in arrays and bool((arrays["tied.prior"] < 0).any()):
        raise BadArtifact("tied.prior has a probability below 0")
    if memory := {name.removeprefix(MEMORY): array for name, array in arrays.items() if name.startswith(MEMORY)}:
        check_memory(memory, MEMORY)


def check_array(name: str, array: NDArray[Any]) -> None:
    """Raise BadArtifact if an array has numbers that are not finite, or is not aligned to the size of its elements."""
    if not array.flags.aligned:
        raise BadArtifact(f"{name} is not aligned in the file")
    if array.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        if math.isfinite(float(array.sum())):  # several times as fast as checking every element
            return
    flat = array.reshape(-1)  # the sum of finite numbers may overflow
    parts = (flat[first : first + AT_ONCE] for first in range(0, len(flat), AT_ONCE))
    if not all(bool(np.isfinite(part).all()) for part in parts):
        raise BadArtifact(f"{name} has numbers that are not finite")


def check_model(model: "nn.Module") -> None:
    """Raise BadArtifact, with the name of the array, if an array of a torch module cannot be used."""
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


def check_tensor(name: str, tensor: "Tensor") -> None:
    """Raise BadArtifact if a tensor has numbers that are not finite, or is not aligned to the size of its elements."""
    if tensor.data_ptr() % tensor.itemsize:
        raise BadArtifact(f"{name} is not aligned in the file")
    if not tensor.is_floating_point() or math.isfinite(float(tensor.detach().sum())):
        return
    flat = tensor.detach().flatten()
    parts = (flat[first : first + AT_ONCE] for first in range(0, len(flat), AT_ONCE))
    if not all(bool(part.isfinite().all()) for part in parts):
        raise BadArtifact(f"{name} has numbers that are not finite")


def check_indices(name: str, indices: ArrayLike, end: int) -> int:
    """Return the highest value of an int32 array, or -1; raise BadArtifact unless all are from 0 to `end` - 1."""
    values = np.asarray(indices)
    if not values.size:
        return -1
    highest = int(values.view("uint32").max())  # a negative number reads as a very large one
    if highest >= end:
        raise BadArtifact(f"{name} has an index outside 0 to {end - 1:,}")
    return highest


def check_offsets(name: str, offsets: ArrayLike, length: int) -> None:
    """Raise BadArtifact unless offsets start at 0, never decrease and end at `length`."""
    values = np.asarray(offsets)
    if not len(values) or values[0] != 0 or values[-1] != length or bool((values[1:] < values[:-1]).any()):
        raise BadArtifact(f"{name} does not increase from 0 to {length:,}, the length of the array that it divides")


def check_memory(arrays: Mapping[str, Any], place: str = "") -> None:
    """Raise BadArtifact if the arrays of a list memory have an index that is out of range, or wrong offsets.

    No value of `list_places` may be above those of `places`. Messages have `place` before the names of the arrays.
    """
    check_offsets(f"{place}starts", arrays["starts"], len(arrays["items"]))
    check_offsets(f"{place}list_starts", arrays["list_starts"], len(arrays["lists"]))
    check_indices(f"{place}items", arrays["items"], len(arrays["list_starts"]) - 1)
    check_indices(f"{place}lists", arrays["lists"], len(arrays["starts"]) - 1)
    last = check_indices(f"{place}places", arrays["places"], LIST_LENGTH)
    check_indices(f"{place}list_places", arrays["list_places"], last + 1)
