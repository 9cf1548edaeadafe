"""Lists in memory: one array of item indices and the offset of each list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fansrec.vocabulary import ListNames


@dataclass(frozen=True)
class Lists:
    """Lists of item indices: list i is `items[offsets[i]:offsets[i + 1]]`. Flat arrays, to fit 100 million items."""

    items: NDArray[np.int32]
    offsets: NDArray[np.int64]  # (lists + 1,)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def keep_items(self, kept: NDArray[np.bool_]) -> Lists:
        """Return the lists without the interactions that are False in `kept`; some lists may become empty."""
        lengths = np.zeros(len(self), dtype=np.int64)
        filled = np.flatnonzero(self.lengths)
        if len(filled):
            lengths[filled] = np.add.reduceat(kept.view(np.uint8), self.offsets[filled], dtype=np.int64)
        return Lists(self.items[kept], offsets_of(lengths))

    def keep_lists(self, kept: NDArray[np.bool_]) -> Lists:
        """Return the lists that are True in `kept`, in the same order."""
        return Lists(self.items[np.repeat(kept, self.lengths)], offsets_of(self.lengths[kept]))

    def drop_repeats(self) -> Lists:
        """Return the lists with the first occurrence of every item only."""
        if not len(self.items):
            return self
        owners = np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)
        keys = owners * (int(self.items.max()) + 1) + self.items
        kept = np.zeros(len(keys), dtype=np.bool_)
        kept[np.unique(keys, return_index=True)[1]] = True
        return self.keep_items(kept)


@dataclass(frozen=True)
class RawLists:
    """The content of a source: its lists, the id of every item index, and the split group and time of every list."""

    lists: Lists
    ids: Sequence[str]
    groups: NDArray[np.int64] | None = None
    group_names: Sequence[str | None] = ()
    sorted_ids: bool = False  # item indices follow the order of the ids, not of the first occurrence
    integers: NDArray[np.bool_] | None = None  # (items,): ids that are integers; None if the source has only text
    times: NDArray[np.int64] | None = None  # (lists,): microseconds since 1970
    columns: dict[str, str | None] | None = None  # the columns of a table that was read, for the summary
    names: ListNames | None = None  # ids and titles of the lists, if the source has them
    ties: int = 0  # items of a list with the same position as another one

    def keep_lists(self, kept: NDArray[np.bool_]) -> RawLists:
        """Return the lists that are True in `kept`, with the same item indices."""
        groups, times = (None if values is None else values[kept] for values in (self.groups, self.times))
        names = None if self.names is None else self.names.select(kept)
        return replace(self, lists=self.lists.keep_lists(kept), groups=groups, times=times, names=names)


def offsets_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the offsets of lists of these lengths, shape (lists + 1,)."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
