"""The matrices of SLIST's regression (and EASE's, which is the case alpha = 1) as sums over pairs of positions.

    within = alpha X'X + (1 - alpha) S'S,  across = alpha X'X + (1 - alpha) S'T       (X, S and T: see slist.py)

S and T are never stored. Over all splits, two positions of a list `gap` apart add gap exp(-(gap - 1) / decay) to S'T,
and exp(-gap / decay) times a geometric series to S'S. The entries are summed for a few items at a time.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.models.linear.cooccurrence import portions
from fansrec.models.ranges import ranges

PAIRS_AT_ONCE = 1 << 21
CELLS_PER_PAIR = 8  # up to which counting in all cells takes less time than sorting the pairs
MIN_WIDTH = 512  # entries that every row can have

Indices = NDArray[np.int64]
Values = NDArray[np.float32]


@dataclass(frozen=True)
class Entries:
    """Entries of both matrices, sorted by row and column; items that share no list have none."""

    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    within: Values  # symmetric
    across: Values  # from the item of the column to that of the row: `across` transposed

    def select(self, which: Indices | NDArray[np.bool_]) -> "Entries":
        return Entries(self.rows[which], self.columns[which], self.within[which], self.across[which])


class PairSums:
    """The lists, arranged so that all pairs of positions can be enumerated for each item."""

    def __init__(
        self, items: NDArray[np.int32], offsets: NDArray[np.int64], vocabulary: int, alpha: float, decay: float = 1.0
    ) -> None:
        """`vocabulary` is the number of items; list i is `items[offsets[i]:offsets[i + 1]]`."""
        self.items, self.starts, self.lengths, self.decay = items, offsets[:-1], np.diff(offsets), decay
        self.lists = np.repeat(np.arange(len(self.lengths)), self.lengths)
        self.popularity = np.bincount(items, minlength=vocabulary)  # positions of every item
        self.by_item = np.argsort(items, kind="stable")  # positions, item after item
        self.ends = np.concatenate([[0], np.cumsum(self.popularity)])
        before = np.concatenate([[0], np.cumsum(self.lengths[self.lists[self.by_item]])])
        self.pairs = np.diff(before[self.ends])  # of the positions of every item with those of their lists
        self.once = np.zeros(len(items))  # X counts an item of a list once: root of alpha at its first position
        self.once[np.unique(self.lists * vocabulary + items, return_index=True)[1]] = np.sqrt(alpha)
        self.share = (1 - alpha) / np.maximum(self.lengths - 1, 1)  # of each split of a list
        # Of two positions, the later one determines how many splits come after both; each is one step further away.
        after = (offsets[1:] - 1)[self.lists] - np.arange(len(items))
        self.both = self.share[self.lists] * np.expm1(-2 * after / decay) / np.expm1(-2 / decay)

    def __len__(self) -> int:
        return len(self.popularity)

    def blocks(self) -> Iterator[Entries]:
        """Yield all entries, those of a few rows at a time."""
        for some in portions(self.pairs / PAIRS_AT_ONCE):
            yield self._entries(some)

    def _entries(self, some: slice) -> Entries:
        """Return the entries of some rows: the pairs of the positions of these items, summed by item."""
        positions = self.by_item[self.ends[some.start] : self.ends[some.stop]]
        lists = self.lists[positions]
        latter = np.repeat(positions, self.lengths[lists])
        former = ranges(self.starts[lists], self.lengths[lists])
        keys = (self.items[latter].astype(np.int64) - some.start) * len(self) + self.items[former]
        cells = (some.stop - some.start) * len(self)
        keys, (within, across) = summed(keys, self._weigh(former, latter), cells)
        rows, columns = np.divmod(keys, len(self))
        return Entries((rows + some.start).astype(np.int32), columns.astype(np.int32), within, across)

    def _weigh(self, former: Indices, latter: Indices) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what each pair of positions adds to `within` and to `across`."""
        gap = latter - former
        same = self.once[former] * self.once[latter]
        both = self.both[np.maximum(former, latter)] * np.exp(-np.abs(gap) / self.decay)
        ahead = np.maximum(gap, 0) * np.exp((1 - np.maximum(gap, 1)) / self.decay)
        return same + both, same + self.share[self.lists[latter]] * ahead

    def dense(self) -> tuple[Tensor, Tensor]:
        """Return `within` and `across`, (M, M) each."""
        within, across = (torch.zeros(len(self), len(self)) for _ in range(2))
        for some in self.blocks():
            within.numpy()[some.rows, some.columns] = some.within
            across.numpy()[some.columns, some.rows] = some.across
        return within, across

    def sparse(self, most: int) -> Entries:
        """Return all entries, or about `most`: those with the highest cosines, roughly, of the longest rows."""
        width = len(self)
        while np.minimum(self.pairs, width).sum() > most and width > MIN_WIDTH:
            width //= 2
        blocks = []
        for some in self.blocks():
            cosines = some.within / np.sqrt(self.popularity[some.columns])
            cosines[some.rows == some.columns] = np.inf
            blocks.append(some.select(highest(some.rows, cosines, width)))
        fields = ([getattr(block, name) for block in blocks] for name in ("rows", "columns", "within", "across"))
        return Entries(*map(np.concatenate, fields))


def highest(rows: NDArray[np.int32], scores: NDArray[np.floating], count: int) -> Indices:
    """Return the indices of the `count` highest scores of each row, in ascending order; `rows` are sorted."""
    lengths = np.bincount(rows) if len(rows) else np.zeros(1, np.int64)
    long = np.flatnonzero(lengths[rows] > count)
    order = long[np.lexsort((-scores[long], rows[long]))]
    rank = ranges(np.zeros(len(lengths), np.int64), np.where(lengths > count, lengths, 0))
    kept = np.ones(len(rows), np.bool_)
    kept[order[rank >= count]] = False
    return np.flatnonzero(kept)


def summed(keys: Indices, values: Iterable[NDArray[np.float64]], cells: int) -> tuple[Indices, list[Values]]:
    """Return the distinct keys, which are below `cells`, in ascending order, and the sums of the values of each."""
    if cells <= CELLS_PER_PAIR * len(keys):
        there = np.zeros(cells, np.bool_)
        there[keys] = True
        found = np.flatnonzero(there)
        return found, [np.bincount(keys, some, cells)[found].astype(np.float32) for some in values]
    order = np.argsort(keys)
    keys = keys[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    if not len(starts):
        return keys, [np.empty(0, np.float32) for _ in values]
    return keys[starts], [np.add.reduceat(some[order], starts).astype(np.float32) for some in values]
