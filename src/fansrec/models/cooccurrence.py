"""In how many training lists two items stand together: the Gram matrix G = X'X of the binary list-item matrix X.

G is counted a few rows at a time, since the whole of it is too large where there are many items.
"""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.models.item_weights import Table

PAIRS_AT_ONCE = 1 << 22
CELLS_AT_ONCE = 1 << 22

Numbers = NDArray[np.int64]


class Cooccurrence:
    """X both ways: the distinct items of every list, and the lists of every item."""

    def __init__(self, items: NDArray[np.int32], offsets: NDArray[np.int64], vocabulary: int) -> None:
        """`vocabulary` is the number of items; list i is `items[offsets[i]:offsets[i + 1]]`."""
        lists = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        lists, self.items = np.divmod(np.unique(lists * vocabulary + items), vocabulary)
        self.sizes = np.bincount(lists, minlength=len(offsets) - 1)  # distinct items of every list
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.popularity = np.bincount(self.items, minlength=vocabulary)  # lists of every item: the diagonal of G
        self.lists = lists[np.argsort(self.items, kind="stable")]  # item after item
        self.list_starts = np.cumsum(self.popularity) - self.popularity

    def __len__(self) -> int:
        return len(self.popularity)

    def rows(self) -> Iterator[tuple[slice, Tensor]]:
        """G a few rows at a time: which rows, and (rows, M) counts."""
        ends = np.concatenate([[0], np.cumsum(self.sizes[self.lists])])
        pairs = ends[self.list_starts + self.popularity] - ends[self.list_starts]  # what each row costs to count
        load = np.cumsum(np.maximum(pairs / PAIRS_AT_ONCE, len(self) / CELLS_AT_ONCE))
        first = 0
        while first < len(self):
            before = load[first - 1] if first else 0.0
            last = max(first + 1, int(np.searchsorted(load, before + 1, side="right")))
            yield slice(first, last), torch.from_numpy(self._count(np.arange(first, last))).float()
            first = last

    def _count(self, rows: Numbers) -> Numbers:
        """Go through all items of all lists of each row's item."""
        lists = self.lists[_ranges(self.list_starts[rows], self.popularity[rows])]
        beside = self.items[_ranges(self.starts[lists], self.sizes[lists])]
        row_of_list = np.repeat(np.arange(len(rows)), self.popularity[rows])
        keys = np.repeat(row_of_list * len(self), self.sizes[lists]) + beside
        return np.bincount(keys, minlength=len(rows) * len(self)).reshape(len(rows), len(self))

    def gram(self) -> Tensor:
        """G whole."""
        gram = torch.empty(len(self), len(self))
        for some, counts in self.rows():
            gram[some] = counts
        return gram

    def lengths(self) -> Tensor:
        """(M,): the lengths of X's columns as vectors; 1 for an item that stands in no list, so that one can divide."""
        return torch.from_numpy(self.popularity).clamp(min=1).float().sqrt()

    def nearest(self, count: int) -> Table:
        """The `count` other items with the highest cosine to each item, and that cosine."""
        nearest = Table.empty(len(self), min(count, len(self) - 1))
        lengths = self.lengths()
        for some, counts in self.rows():
            cosines = counts / (lengths[some, None] * lengths)
            cosines.diagonal(offset=some.start).fill_(-1)  # never itself
            nearest.weights[some], items = cosines.topk(nearest.width, 1)
            nearest.items[some] = items.int()
        return nearest


def _ranges(starts: Numbers, lengths: Numbers) -> Numbers:
    """The numbers from each start on, as many as its length says, one range after the other."""
    before = np.cumsum(lengths) - lengths
    ranges: Numbers = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return ranges
