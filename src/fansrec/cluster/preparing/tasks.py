"""Plain functions as Ray tasks, and counts added up by tasks."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray

FAN_IN = 8  # counts that one task adds up: their sum must fit into its memory

Counts = tuple[NDArray[np.int64], NDArray[np.int64]]  # the keys that occur, ascending, and how often


def task(function: Callable[..., Any], *arguments: Any, parts: int = 1) -> Any:
    """Run a function on the cluster; return a reference to its result, or one to each of `parts` values of a tuple."""
    return _remote(function).options(num_returns=parts).remote(*arguments)


def sum_counts(counts: Sequence[ray.ObjectRef]) -> Counts:
    """Return the sum of the counts that the references lead to."""
    while len(counts) > 1:
        counts = [task(_add, *counts[first : first + FAN_IN]) for first in range(0, len(counts), FAN_IN)]
    total: Counts = ray.get(counts[0])
    return total


def cores() -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


@cache
def _remote(function: Callable[..., Any]) -> Any:
    return ray.remote(function)


def _add(*parts: Counts) -> Counts:
    keys, key_of = np.unique(np.concatenate([keys for keys, _ in parts]), return_inverse=True)
    counts = np.concatenate([counts for _, counts in parts])
    return keys, np.bincount(key_of, weights=counts, minlength=len(keys)).astype(np.int64)
