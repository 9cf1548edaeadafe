"""What a shard is asked for a batch of B lists."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fansrec.models.neighbors.similar_lists import Neighbors

Indices = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Categories:
    """The first stage of the network, as in `FirstStage`; categories are those of the whole model."""

    hidden: Floats  # (B, K, D)
    by_list: Floats  # (B, n): of the categories of the shard
    requested: Indices  # (B, b)
    weights: Floats  # (B, K, b)


@dataclass(frozen=True)
class Cells:
    """Some items of the shard in some lists, list after list."""

    rows: Indices  # (X,)
    items: Indices  # (X,)
    values: Floats | None = None  # (X,)


@dataclass(frozen=True)
class Votes:
    """The neighbors of all lists, which vote for the items of the shard."""

    key: str  # of the batch: a shard keeps the votes of the last one
    neighbors: Neighbors
    weights: NDArray[np.float64]  # (n,): of the neighbors
    seen: Cells  # items of the inputs, which get no votes
    lists: int  # B


@dataclass(frozen=True)
class Question:
    """The evidence for the items of the shard; None for a part that the model does not use."""

    lists: int  # B
    categories: Categories | None
    votes: Votes | None
    highest: NDArray[np.float64] | None  # (B,): vote of all shards
    linear: Cells | None  # positive scores of the linear part
    blocked: Cells  # items that a list may not get
    count: int  # the length of shortlists
    max_per_group: int | None
