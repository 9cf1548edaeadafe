"""What the answers are made of: how much of the catalogue they reach, how popular and how alike their items are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def coverage(answers: NDArray[np.int64], items: int) -> float:
    """The share of a catalogue of `items` that stands in at least one answer; -1 is no item."""
    return len(np.unique(answers[answers >= 0])) / items


def distinct_categories(answers: NDArray[np.int64], categories: NDArray[np.int64]) -> NDArray[np.int64]:
    """(lists,): how many different categories each answer has; `categories` gives that of every item."""
    rows = np.sort(np.where(answers >= 0, categories[answers], -1), axis=1)
    starts = np.diff(rows, axis=1, prepend=-1) > 0  # sorted, so a rise begins another category
    return np.asarray(starts.sum(1))


def popularity(answers: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """(lists,): the mean popularity of each answer's items, NaN if it has none; `shares` gives that of every item."""
    given = answers >= 0
    return _over(np.where(given, shares[answers], 0).sum(1), given.sum(1))


def coherence(answers: NDArray[np.int64], categories: NDArray[np.int64]) -> NDArray[np.float64]:
    """(lists,): of the pairs of an answer's items, the share within one category; NaN if it has no two items."""
    rows = np.where(answers >= 0, categories[answers], -1)
    given = (rows >= 0).sum(1)
    alike = np.zeros(len(rows), dtype=np.int64)
    for distance in range(1, rows.shape[1]):
        alike += ((rows[:, distance:] == rows[:, :-distance]) & (rows[:, distance:] >= 0)).sum(1)
    return _over(alike, given * (given - 1) // 2)


def _over(sums: NDArray[Any], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0))
