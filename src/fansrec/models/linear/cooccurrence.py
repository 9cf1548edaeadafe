"""The number of training lists that two items share: the Gram matrix G = X'X of the binary list-item matrix X.

G is counted a few rows at a time, since it does not fit in memory if there are many items.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.models.linear.item_weights import DenseWeights, PrunedWeights, Table, shares, strongest
from fansrec.models.linear.popularity import memberships
from fansrec.models.ranges import ranges
from fansrec.models.threads import map_in_threads

PAIRS_AT_ONCE = 1 << 19
CELLS_AT_ONCE = 1 << 22

Indices = NDArray[np.int64]
# Turns entries of G, given their rows, their columns and their values, into weights; may overwrite the values.
Weigh = Callable[[Tensor, Tensor, Tensor], Tensor]


class Cooccurrence:
    """X by rows and by columns: the distinct items of every list, and the lists of every item."""

    def __init__(
        self, items: NDArray[np.int32], offsets: NDArray[np.int64], vocabulary: int, length_exponent: float = 0.0
    ) -> None:
        """`vocabulary` is the number of items; list i is `items[offsets[i]:offsets[i + 1]]`.

        A list of n distinct items adds n ** -length_exponent to G.
        """
        lists, self.items = memberships(items, offsets, vocabulary)
        self.sizes = np.bincount(lists, minlength=len(offsets) - 1)  # distinct items of every list
        self.list_weights = self.sizes.clip(min=1) ** -length_exponent if length_exponent else None
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.popularity = np.bincount(self.items, minlength=vocabulary)  # lists of every item: the diagonal of G
        self.lists = lists[np.argsort(self.items, kind="stable")]  # item after item
        self.list_starts = np.cumsum(self.popularity) - self.popularity

    def __len__(self) -> int:
        return len(self.popularity)

    def rows(self) -> Iterator[tuple[slice, Tensor]]:
        """Yield G a few rows at a time: which rows, and their counts (rows, M)."""
        for some in portions(np.maximum(self._pairs() / PAIRS_AT_ONCE, len(self) / CELLS_AT_ONCE)):
            keys, weights = self._enumerate(some)
            counts = np.bincount(keys, weights, (some.stop - some.start) * len(self))
            yield some, torch.from_numpy(counts.reshape(-1, len(self))).float()

    def _pairs(self) -> Indices:
        """Return how many items the lists of each item have together: the cost of counting its row."""
        ends = np.concatenate([[0], np.cumsum(self.sizes[self.lists])])
        return np.asarray(ends[self.list_starts + self.popularity] - ends[self.list_starts])

    def _enumerate(self, some: slice) -> tuple[Indices, NDArray[np.float64] | None]:
        """Return the cell, among those of some rows of G, of every item of every list of each row's item.

        With them, what each adds to its cell, or None if that is 1.
        """
        lists = self.lists[ranges(self.list_starts[some], self.popularity[some])]
        beside = self.items[ranges(self.starts[lists], self.sizes[lists])]
        row_of_list = np.repeat(np.arange(some.stop - some.start), self.popularity[some])
        keys = np.repeat(row_of_list * len(self), self.sizes[lists]) + beside
        return keys, None if self.list_weights is None else np.repeat(self.list_weights[lists], self.sizes[lists])

    def _entries(self, some: slice) -> tuple[Tensor, Tensor, Tensor]:
        """Return the entries of some rows of G that are not 0: row among these, column and value; not the diagonal."""
        keys, weights = self._enumerate(some)
        keys, index = np.unique(keys, return_inverse=True)
        counts = np.bincount(index, weights, len(keys))
        rows, columns = np.divmod(keys, len(self))
        other = rows + some.start != columns
        found = torch.from_numpy(rows[other]), torch.from_numpy(columns[other])
        return *found, torch.from_numpy(counts[other]).float()

    def gram(self) -> Tensor:
        """Return all of G, (M, M)."""
        gram = torch.empty(len(self), len(self))
        for some, counts in self.rows():
            gram[some] = counts
        return gram

    def norms(self) -> Tensor:
        """Return the Euclidean norms (M,) of X's columns, with 1 for an item that is in no list."""
        return torch.from_numpy(self.popularity).clamp(min=1).float().sqrt()

    def nearest(self, count: int, weigh: Weigh) -> Table:
        """Return the `count` items with the highest weight from each item, by what `weigh` returns."""
        nearest = Table.empty(len(self), min(count, len(self) - 1))

        def find(some: slice) -> None:
            rows, columns, counts = self._entries(some)
            weights = weigh(rows + some.start, columns, counts)
            best = strongest(rows, columns, weights, some.stop - some.start, nearest.width)
            nearest.items[some], nearest.weights[some] = best.items, best.weights

        map_in_threads(find, list(portions(self._pairs() / PAIRS_AT_ONCE)))
        return nearest

    def fit(self, weights: DenseWeights | PrunedWeights, weigh: Weigh) -> None:
        """Fit `weights` to what `weigh` returns: all of it, or the highest of each row; 0 from an item to itself."""
        weights.popularity = shares(self.popularity)
        if isinstance(weights, PrunedWeights):
            weights.assign(self.nearest(weights.width, weigh))
            return
        weights.matrix = torch.empty(len(self), len(self))
        for some, counts in self.rows():
            rows, columns = torch.arange(some.start, some.stop), torch.arange(len(self))
            weights.matrix[some] = weigh(rows[:, None], columns, counts)
        weights.matrix.fill_diagonal_(0)


def portions(costs: NDArray[np.float64]) -> Iterator[slice]:
    """Yield consecutive slices whose costs add up to at most 1, or single elements that cost more."""
    total, first = np.cumsum(costs), 0
    while first < len(costs):
        before = total[first - 1] if first else 0.0
        last = max(first + 1, int(np.searchsorted(total, before + 1, side="right")))
        yield slice(first, last)
        first = last
