"""Item counts over shards: each shard counts its own items, and one task per range of items adds the counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.tasks import cores, task

MIN_RANGE = 100_000  # items: adding fewer takes less time than starting a task

Counts = tuple[NDArray[np.int64], NDArray[np.int64]]  # the items that occur, ascending, and how often


def item_ranges(items: int) -> NDArray[np.int64]:
    """Return the boundaries of at most one range of items per core, shape (ranges + 1,)."""
    ranges = max(1, min(cores(), items // MIN_RANGE))
    return np.arange(ranges + 1, dtype=np.int64) * items // ranges


def count_by_range(items: NDArray[np.int32], ranges: NDArray[np.int64]) -> tuple[Counts, ...]:
    """Return how often each item occurs, one pair of arrays per range."""
    if len(items) * 4 > ranges[-1]:
        counts = np.bincount(items, minlength=int(ranges[-1]))
        return split_by_range((np.flatnonzero(counts), counts[counts > 0]), ranges)
    distinct, counts = np.unique(items, return_counts=True)
    return split_by_range((distinct.astype(np.int64), counts), ranges)


def split_by_range(columns: Sequence[NDArray[np.int64]], ranges: NDArray[np.int64]) -> tuple[Any, ...]:
    """Split arrays of equal length, the first of which is ascending, at the boundaries of the ranges."""
    at = np.searchsorted(columns[0], ranges[1:-1])
    return tuple(zip(*(np.split(column, at) for column in columns), strict=True))


def sum_counts(shards: Sequence[list[ray.ObjectRef]], ranges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how often each item occurs in all shards, shape (items,), from the counts of each shard by range."""
    sums = [
        task(_sum_range, int(first), int(end), *counts)
        for first, end, *counts in zip(ranges[:-1], ranges[1:], *shards, strict=True)
    ]
    return np.concatenate(ray.get(sums))


def _sum_range(first: int, end: int, *parts: Counts) -> NDArray[np.int64]:
    total = np.zeros(end - first, dtype=np.int64)
    for items, counts in parts:
        total[items - first] += counts
    return total
