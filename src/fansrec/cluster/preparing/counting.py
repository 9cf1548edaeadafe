"""Counts of items over shards: each shard counts its own, and each range of items is summed by a task of its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.tasks import cores, task

FEWEST = 100_000  # items in a range: fewer are summed sooner than a task begins

Counts = tuple[NDArray[np.int64], NDArray[np.int64]]  # items that occur, rising, and how often


def item_ranges(items: int) -> NDArray[np.int64]:
    """Where ranges of items begin, one range for each core, and where the last ends."""
    ranges = max(1, min(cores(), items // FEWEST))
    return np.arange(ranges + 1, dtype=np.int64) * items // ranges


def by_ranges(items: NDArray[np.int32], cuts: NDArray[np.int64]) -> tuple[Counts, ...]:
    """How often each item occurs, in as many parts as there are ranges."""
    if len(items) * 4 > cuts[-1]:
        counts = np.bincount(items, minlength=int(cuts[-1]))
        return split_ranges((np.flatnonzero(counts), counts[counts > 0]), cuts)
    distinct, counts = np.unique(items, return_counts=True)
    return split_ranges((distinct.astype(np.int64), counts), cuts)


def split_ranges(rows: Sequence[NDArray[np.int64]], cuts: NDArray[np.int64]) -> tuple[Any, ...]:
    """Arrays of like length, of which the first rises, cut where its ranges begin."""
    at = np.searchsorted(rows[0], cuts[1:-1])
    return tuple(zip(*(np.split(row, at) for row in rows), strict=True))


def summed(parts: Sequence[list[ray.ObjectRef]], cuts: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each item occurs in all shards: `parts` are each shard's counts by ranges."""
    sums = [
        task(_summed, int(first), int(end), *of_range)
        for first, end, *of_range in zip(cuts[:-1], cuts[1:], *parts, strict=True)
    ]
    return np.concatenate(ray.get(sums))


def _summed(first: int, end: int, *parts: Counts) -> NDArray[np.int64]:
    counts = np.zeros(end - first, dtype=np.int64)
    for items, found in parts:
        counts[items - first] += found
    return counts
