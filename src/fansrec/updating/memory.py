"""The arrays of a list memory after lists were removed and added, without reading all of its lists again.

The result equals, byte for byte, the memory of the final lists (models/neighbors/list_memory.py). Needs no torch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fansrec.models.ranges import ranges

Int32 = NDArray[np.int32]
Indices = NDArray[np.int64]
NAMES = ("items", "places", "starts", "lists", "list_places", "list_starts")


@dataclass(frozen=True)
class Memory:
    """The distinct items of every list with their positions, list after list, and the lists of every item."""

    items: Int32
    places: Int32
    starts: Indices  # (lists + 1,)
    lists: Int32
    list_places: Int32
    list_starts: Indices  # (M + 1,)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def vocabulary(self) -> int:
        return len(self.list_starts) - 1

    @property
    def counts(self) -> Indices:
        """The number of lists (M,) of every item."""
        return np.diff(self.list_starts)

    def without(self, removed: NDArray[np.bool_]) -> "Memory":
        """Return the memory without the lists that are True in `removed` (lists,)."""
        if not removed.any():
            return self
        sizes = np.diff(self.starts)
        kept_entries = ~np.repeat(removed, sizes)
        kept_by_item = ~removed[self.lists]
        indices = (np.cumsum(~removed) - 1).astype(np.int32)  # of the lists that are left
        before = np.concatenate([[0], np.cumsum(kept_by_item)])
        return Memory(
            self.items[kept_entries],
            self.places[kept_entries],
            starts_of(sizes[~removed]),
            indices[self.lists[kept_by_item]],
            self.list_places[kept_by_item],
            before[self.list_starts],
        )

    def with_items(self, indices: Indices, vocabulary: int) -> "Memory":
        """Return the memory with other item indices: item i is `indices[i]` of `vocabulary` items.

        An item that is in no list may get the index -1: it leaves the vocabulary.
        """
        if vocabulary == self.vocabulary and np.array_equal(indices, np.arange(vocabulary)):
            return self
        left = np.flatnonzero(indices >= 0)
        left = left[np.argsort(indices[left], kind="stable")]  # the items in their new order
        counts = np.zeros(vocabulary, dtype=np.int64)
        counts[indices[left]] = self.counts[left]
        items = indices.astype(np.int32)[self.items]
        lists, list_places = self.lists, self.list_places
        if bool((np.diff(left) < 0).any()):
            moved = ranges(self.list_starts[left], self.counts[left])
            lists, list_places = lists[moved], list_places[moved]
        return Memory(items, self.places, self.starts, lists, list_places, starts_of(counts))

    def with_lists(self, new: Sequence[Indices]) -> "Memory":
        """Return the memory with more lists of item indices, which are newer than all others."""
        if not new:
            return self
        items, places, sizes = distinct(new)
        lists = np.repeat(np.arange(len(self), len(self) + len(new), dtype=np.int32), sizes)
        by_item = np.argsort(items, kind="stable")
        ends = self.list_starts[1:][items[by_item]]  # the lists of an item come in their own order, newest last
        return Memory(
            np.concatenate([self.items, items]),
            np.concatenate([self.places, places]),
            np.concatenate([self.starts, self.starts[-1] + np.cumsum(sizes)]),
            np.insert(self.lists, ends, lists[by_item]),
            np.insert(self.list_places, ends, places[by_item]),
            self.list_starts + starts_of(np.bincount(items, minlength=self.vocabulary)),
        )


def distinct(lists: Sequence[Indices]) -> tuple[Int32, Int32, Indices]:
    """Return the distinct items of lists in order, their first positions, and how many each list has."""
    lengths, flat = np.array([len(one) for one in lists]), np.concatenate(lists)
    owners = np.repeat(np.arange(len(lists)), lengths)
    first = np.sort(np.unique(owners * (int(flat.max(initial=0)) + 1) + flat, return_index=True)[1])
    places = first - starts_of(lengths)[owners[first]]
    sizes = np.bincount(owners[first], minlength=len(lists))
    return flat[first].astype(np.int32), places.astype(np.int32), sizes


def starts_of(sizes: Indices) -> Indices:
    """Return where each of several runs starts, and the end of the last."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)])
