"""In how many training lists two items stand together: the Gram matrix G = X'X of the binary list-item matrix X.

G is counted a few rows at a time, since the whole of it is too large where there are many items.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.models.linear.item_weights import DenseWeights, PrunedWeights, Table, shares

PAIRS_AT_ONCE = 1 << 22
CELLS_AT_ONCE = 1 << 22

Numbers = NDArray[np.int64]
Weigh = Callable[[slice, Tensor], Tensor]  # makes some rows of G the weights from their items to all


class Cooccurrence:
    """X both ways: the distinct items of every list, and the lists of every item."""

    def __init__(
        self, items: NDArray[np.int32], offsets: NDArray[np.int64], vocabulary: int, length_exponent: float = 0.0
    ) -> None:
        """`vocabulary` is the number of items; list i is `items[offsets[i]:offsets[i + 1]]`.

        In G, a list of n distinct items counts n ** -length_exponent.
        """
        lists = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        lists, self.items = np.divmod(np.unique(lists * vocabulary + items), vocabulary)
        self.sizes = np.bincount(lists, minlength=len(offsets) - 1)  # distinct items of every list
        self.worths = self.sizes.clip(min=1) ** -length_exponent if length_exponent else None
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

    def _count(self, rows: Numbers) -> NDArray[np.int64] | NDArray[np.float64]:
        """Go through all items of all lists of each row's item."""
        lists = self.lists[ranges(self.list_starts[rows], self.popularity[rows])]
        beside = self.items[ranges(self.starts[lists], self.sizes[lists])]
        row_of_list = np.repeat(np.arange(len(rows)), self.popularity[rows])
        keys = np.repeat(row_of_list * len(self), self.sizes[lists]) + beside
        worths = None if self.worths is None else np.repeat(self.worths[lists], self.sizes[lists])
        return np.bincount(keys, worths, len(rows) * len(self)).reshape(len(rows), len(self))

    def gram(self) -> Tensor:
        """G whole."""
        gram = torch.empty(len(self), len(self))
        for some, counts in self.rows():
            gram[some] = counts
        return gram

    def lengths(self) -> Tensor:
        """(M,): the lengths of X's columns as vectors; 1 for an item that stands in no list, so that one can divide."""
        return torch.from_numpy(self.popularity).clamp(min=1).float().sqrt()

    def cosines(self, some: slice, counts: Tensor) -> Tensor:
        lengths = self.lengths()
        return counts / (lengths[some, None] * lengths)

    def nearest(self, count: int, weigh: Weigh | None = None) -> Table:
        """The `count` other items with the highest weight from each item (its cosine, unless told otherwise)."""
        nearest = Table.empty(len(self), min(count, len(self) - 1))
        for some, counts in self.rows():
            weights = (weigh or self.cosines)(some, counts)
            weights.diagonal(offset=some.start).fill_(-1)  # never itself
            nearest.weights[some], items = weights.topk(nearest.width, 1)
            nearest.items[some] = items.int()
        return nearest

    def teach(self, weights: DenseWeights | PrunedWeights, weigh: Weigh) -> None:
        """All that `weigh` makes of G, or the highest of each row; none from an item to itself."""
        weights.popularity = shares(self.popularity)
        if isinstance(weights, PrunedWeights):
            weights.learn(self.nearest(weights.width, weigh))
            return
        weights.matrix = torch.empty(len(self), len(self))
        for some, counts in self.rows():
            weights.matrix[some] = weigh(some, counts)
        weights.matrix.fill_diagonal_(0)


def ranges(starts: Numbers, lengths: Numbers) -> Numbers:
    """The numbers from each start on, as many as its length says, one range after the other."""
    before = np.cumsum(lengths) - lengths
    ranges: Numbers = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return ranges
