"""Metrics of answers against targets: pure functions over arrays with one row per list.

An answer is a row of item indices, -1 where it is shorter. A hit is an item of the target, in both protocols:

- `paper`: lists whose target is shorter than n are left out at n; the ideal ranking covers the whole target, repeats
  counted.
- `standard`: every list counts; the ideal ranking covers min(n, distinct target items).

Recall, precision, average precision and reciprocal rank are those of trec_eval in both protocols, with the distinct
items of the target as the relevant ones.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PAPER = "paper"
STANDARD = "standard"

Floats = NDArray[np.float64]


def hits(answers: NDArray[np.int64], targets: Sequence[NDArray[np.int32]]) -> NDArray[np.bool_]:
    """Return whether each answered item occurs anywhere in its list's target, (lists, k)."""
    if len(answers) != len(targets):
        raise ValueError(f"there are {len(answers)} answers and {len(targets)} targets")
    rows, items = np.repeat(np.arange(len(targets)), lengths(targets)), _joined(targets)
    most = max(answers.max(initial=0), items.max(initial=0)) + 1
    cells = np.arange(len(answers))[:, None] * most + answers
    return np.isin(cells, rows * most + items) & (answers >= 0)


def discounts(n: int) -> Floats:
    return np.asarray(1 / np.log2(np.arange(n) + 2.0), dtype=np.float64)


def hit_ratio(hit: NDArray[np.bool_], n: int) -> Floats:
    """Return 1 for the lists with a hit among the first n items, else 0, (lists,)."""
    return np.asarray(hit[:, :n].any(1), dtype=np.float64)


def ndcg(hit: NDArray[np.bool_], n: int, ideal_lengths: NDArray[np.int64]) -> Floats:
    """Return the discounted gain of the first n items over that of `ideal_lengths` hits at the top, (lists,)."""
    gain = hit[:, :n] @ discounts(hit.shape[1])[:n]
    ideal = np.concatenate([[0.0], np.cumsum(discounts(int(ideal_lengths.max(initial=1))))])
    return np.asarray(gain / ideal[ideal_lengths])


def recall(hit: NDArray[np.bool_], n: int, relevant: NDArray[np.int64]) -> Floats:
    """Return the share of the `relevant` items (lists,) that are among the first n, (lists,)."""
    return np.asarray(hit[:, :n].sum(1) / relevant)


def precision(hit: NDArray[np.bool_], n: int) -> Floats:
    """Return the share of the first n positions that hold a hit, (lists,); positions without an item hold none."""
    return np.asarray(hit[:, :n].sum(1) / n)


def average_precision(hit: NDArray[np.bool_], n: int, relevant: NDArray[np.int64]) -> Floats:
    """Return the sum of the precisions at the hits among the first n items over the `relevant` items, (lists,)."""
    first = hit[:, :n]
    precisions = first.cumsum(1) / np.arange(1, first.shape[1] + 1)
    return np.asarray((precisions * first).sum(1) / relevant)


def reciprocal_rank(hit: NDArray[np.bool_], n: int) -> Floats:
    """Return 1 / the position of the first hit among the first n items, from 1; 0 without a hit; (lists,)."""
    first = hit[:, :n]
    return np.where(first.any(1), 1 / (first.argmax(1) + 1.0), 0.0)


def novelty(answers: NDArray[np.int64], n: int, shares: Floats) -> Floats:
    """Return the mean of -log2(share) over the first n items of each answer, (lists,); 0 for an answer without items.

    `shares` (items,) is the share of the training lists that contain each item. An item that none contains is as novel
    as the rarest one that some contain.
    """
    first, rarest = answers[:, :n], shares[shares > 0].min(initial=1.0)
    bits = np.where(first >= 0, -np.log2(np.maximum(shares, rarest))[first], 0.0)
    return np.asarray(bits.sum(1) / np.maximum((first >= 0).sum(1), 1))


def counted(targets: Sequence[NDArray[np.int32]], n: int, protocol: str) -> NDArray[np.bool_]:
    """Return which lists count at n, (lists,)."""
    return lengths(targets) >= n if protocol == PAPER else np.ones(len(targets), dtype=bool)


def spread(values: Floats, counts: NDArray[np.bool_]) -> Floats:
    """Return the values of all lists, (lists,), from those of the lists that count; NaN for the others."""
    every = np.full(len(counts), np.nan)
    every[counts] = values
    return every


def ideal_lengths(targets: Sequence[NDArray[np.int32]], n: int, protocol: str) -> NDArray[np.int64]:
    """Return how many hits the ideal answer of each list has, (lists,)."""
    return lengths(targets) if protocol == PAPER else np.minimum(distinct_lengths(targets), n)


def distinct_lengths(targets: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
    """Return how many different items each target has, (lists,)."""
    rows, items = np.repeat(np.arange(len(targets)), lengths(targets)), _joined(targets)
    most = items.max(initial=0) + 1
    distinct = np.unique(rows * most + items) // most
    return np.bincount(distinct, minlength=len(targets))


def lengths(targets: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
    return np.array([len(target) for target in targets], dtype=np.int64)


def _joined(targets: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
    """Return the items of all targets, one after the other."""
    return np.concatenate([np.empty(0, dtype=np.int64), *targets])
