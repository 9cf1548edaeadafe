"""Lists on their way into a corpus: one array of item numbers and where each list begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Lists:
    """List i is `items[offsets[i]:offsets[i + 1]]`; flat arrays, because a hundred million items must fit."""

    items: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def keep_items(self, kept: NDArray[np.bool_]) -> Lists:
        """The same lists with only the interactions marked in `kept`; some lists may end empty."""
        lengths = np.zeros(len(self), dtype=np.int64)
        filled = np.flatnonzero(self.lengths)
        if len(filled):
            lengths[filled] = np.add.reduceat(kept.view(np.uint8), self.offsets[filled], dtype=np.int64)
        return Lists(self.items[kept], offsets_of(lengths))

    def keep_lists(self, kept: NDArray[np.bool_]) -> Lists:
        """Only the lists marked in `kept`, in their order."""
        return Lists(self.items[np.repeat(kept, self.lengths)], offsets_of(self.lengths[kept]))


@dataclass(frozen=True)
class RawLists:
    """What a source holds: its lists, the id of every item number, and each list's value of the split column."""

    lists: Lists
    ids: Sequence[str]
    groups: NDArray[np.int64] | None = None
    group_names: Sequence[str | None] = ()
    ids_rise: bool = False  # items are numbered in the order of their ids, not in that of their first sight


def offsets_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
