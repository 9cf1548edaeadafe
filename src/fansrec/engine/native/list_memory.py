"""A list memory as the native kernel takes it."""

from ctypes import Structure
from typing import Any

import numpy as np

from fansrec.engine.native.structures import ListMemory
from fansrec.engine.native.weights import Weights
from fansrec.errors import BadArtifact

MEMBERS = ("items", "places", "lists", "list_places")  # the arrays with an entry for each item of each list


def list_memory(weights: Weights, **settings: Any) -> Structure:
    """Return the structure of the list memory of a model, with these settings."""
    arrays = {name: weights.arrays[f"memory.{name}"] for name in MEMBERS}
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) != 1:
        raise BadArtifact("the arrays of the list memory differ in length; train the model again")
    return ListMemory(
        **{name: weights.array(f"memory.{name}", np.int32) for name in MEMBERS},
        **{name: weights.array(f"memory.{name}", np.int64) for name in ("starts", "list_starts")},
        known=len(weights.arrays["memory.starts"]) - 1,
        longest=max(int(arrays[name].max(initial=0)) for name in ("places", "list_places")),
        vocabulary=len(weights.arrays["memory.list_starts"]) - 1,
        members=lengths.pop(),
        **settings,
    )
