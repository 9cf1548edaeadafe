"""The training lists that share items with several inputs, and the choice of the most similar ones."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Neighbors:
    """Training lists that share an item with an input, sorted by input and list."""

    rows: Indices  # which input
    lists: Indices
    similarity: Floats
    last_shared: Indices  # where the list has the most recent item of the input that it contains

    def select(self, which: Indices) -> "Neighbors":
        return Neighbors(self.rows[which], self.lists[which], self.similarity[which], self.last_shared[which])

    def nearest(self, most: Indices) -> "Neighbors":
        """Return the most similar ones, at most `most` (B,) of each input; ties go to the newest, as in all engines."""
        similar = np.flatnonzero(self.similarity)
        counts = np.bincount(self.rows[similar], minlength=len(most))
        ends, kept = np.cumsum(counts), np.ones(len(similar), dtype=np.bool_)
        for row in np.flatnonzero(counts > most):
            some, count = slice(ends[row] - counts[row], ends[row]), most[row]
            similarity = self.similarity[similar[some]]
            least = np.partition(similarity, len(similarity) - count)[len(similarity) - count]
            equal = np.flatnonzero(similarity == least)
            kept[some] = similarity > least
            kept[some][equal[len(equal) - (count - np.count_nonzero(kept[some])) :]] = True
        return self.select(similar[kept])


def distinct_items(given: Indices, lengths: Indices, vocabulary: int) -> tuple[Indices, Indices, Indices]:
    """Return the distinct items of inputs that are `given` one after the other, the oldest of each first.

    With them, the row of each and the distance of its last position from the end.
    """
    rows = np.repeat(np.arange(len(lengths)), lengths)
    last = len(given) - 1 - np.unique((rows * vocabulary + given)[::-1], return_index=True)[1]
    last.sort()
    return given[last], rows[last], (np.cumsum(lengths) - 1)[rows[last]] - last


def distinct_keys(keys: Indices, bound: int) -> tuple[Indices, Indices]:
    """Return the distinct keys, which are below `bound`, in ascending order, and the index of each key among them."""
    index = np.empty(bound, dtype=np.int64)  # of which only the entries of these keys are used
    index[keys] = np.arange(len(keys))
    distinct = np.sort(keys[index[keys] == np.arange(len(keys))])
    index[distinct] = np.arange(len(distinct))
    return distinct, index[keys]
