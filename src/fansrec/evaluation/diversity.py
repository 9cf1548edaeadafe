"""What answers consist of: how much of the catalog they cover, how popular and how similar their items are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def coverage(answers: NDArray[np.int64], items: int) -> float:
    """Return the share of a catalog of `items` that occurs in at least one answer; -1 is not an item."""
    return len(np.unique(answers[answers >= 0])) / items


def distinct_categories(answers: NDArray[np.int64], categories: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many different categories each answer has, (lists,); `categories` gives that of every item."""
    rows = np.sort(np.where(answers >= 0, categories[answers], -1), axis=1)
    starts = np.diff(rows, axis=1, prepend=-1) > 0  # rows are sorted, so every increase is another category
    return np.asarray(starts.sum(1))


def popularity(answers: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean popularity of each answer's items, (lists,), NaN without items; `shares` is that of each item."""
    given = answers >= 0
    return _ratio(np.where(given, shares[answers], 0).sum(1), given.sum(1))


def coherence(answers: NDArray[np.int64], categories: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of each answer's pairs of items within one category, (lists,); NaN if it has no pair."""
    rows = np.where(answers >= 0, categories[answers], -1)
    given = (rows >= 0).sum(1)
    same = np.zeros(len(rows), dtype=np.int64)
    for distance in range(1, rows.shape[1]):
        same += ((rows[:, distance:] == rows[:, :-distance]) & (rows[:, distance:] >= 0)).sum(1)
    return _ratio(same, given * (given - 1) // 2)


def _ratio(sums: NDArray[Any], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0))
