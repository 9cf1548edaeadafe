"""What is known of items that the network was not trained with: the lists that contain them, and items like them.

An item of few lists, or of none, borrows the lists of its proxies (proxies.py). The more lists it has itself, the less
it borrows. Everything else about a new item (its category, its vector, its item-item weights) follows from this
evidence, so that it depends on the final lists and descriptions alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fansrec.models.ranges import ranges
from fansrec.updating.memory import Indices, Memory

Floats = NDArray[np.float64]

PAIRS_AT_ONCE = 1 << 16  # that fit into a cache
MAX_LISTS = 1000  # of an item, the newest: more say little more
MAX_PROXY_LISTS = 50  # of each proxy, the newest
BORROWED = 0.5  # an item without lists is taken to be in this share of the lists of a mean proxy


@dataclass(frozen=True)
class Evidence:
    """Weighted lists of A new items: entry e says that item `rows[e]` is in list `lists[e]`, with `weights[e]`."""

    memory: Memory
    rows: Indices
    lists: Indices
    weights: Floats
    counts: Floats  # (A,): the number of lists of each item, its own and borrowed ones

    @cached_property
    def together(self) -> tuple[Indices, Indices, Floats]:
        """The pairs of a new item and an item that shares lists with it, sorted, and the weight of these lists."""
        order = np.argsort(self.rows, kind="stable")
        ends = np.cumsum(np.diff(self.memory.starts)[self.lists[order]])
        blocks = np.searchsorted(ends, np.arange(PAIRS_AT_ONCE, ends[-1] if len(ends) else 0, PAIRS_AT_ONCE))
        rows = self.rows[order]
        blocks = np.unique(np.searchsorted(rows, rows[blocks]))  # a block has all entries of its items
        found = [self._pairs(some) for some in np.split(order, blocks)]
        rows, others, together = (np.concatenate(columns) for columns in zip(*found, strict=True))
        return rows, others, together

    def _pairs(self, entries: Indices) -> tuple[Indices, Indices, Floats]:
        """Return the pairs of some entries."""
        memory, rows, lists = self.memory, self.rows[entries], self.lists[entries]
        sizes = memory.starts[lists + 1] - memory.starts[lists]
        others = memory.items[ranges(memory.starts[lists], sizes)].astype(np.int64)
        keys, index = np.unique(np.repeat(rows, sizes) * memory.vocabulary + others, return_inverse=True)
        rows, others = np.divmod(keys, memory.vocabulary)
        together = np.bincount(index, np.repeat(self.weights[entries], sizes), len(keys)).astype(np.float64)
        return rows, others, together


def gather(memory: Memory, new: Indices, proxies: Sequence[Sequence[int]]) -> Evidence:
    """Return the evidence for the items `new` (A,) of a memory; `proxies` has those of each."""
    own = memory.counts[new]
    rows, lists = _lists_of(memory, new, MAX_LISTS)
    owners = np.repeat(np.arange(len(new)), [len(some) for some in proxies])
    flat = np.array([item for some in proxies for item in some], dtype=np.int64)
    pairs, borrowed = _lists_of(memory, flat, MAX_PROXY_LISTS)
    of_new = owners[pairs]
    mean = np.bincount(owners, memory.counts[flat], len(new)) / np.maximum(np.bincount(owners, minlength=len(new)), 1)
    borrowed_count = BORROWED * mean / (1 + own)
    share = borrowed_count / np.maximum(np.bincount(of_new, minlength=len(new)), 1)
    return Evidence(
        memory,
        np.concatenate([rows, of_new]),
        np.concatenate([lists, borrowed]),
        np.concatenate([(own / np.clip(own, 1, MAX_LISTS))[rows], share[of_new]]),
        own + borrowed_count,
    )


def _lists_of(memory: Memory, items: Indices, most: int) -> tuple[Indices, Indices]:
    """Return the newest lists of each of `items`, at most `most`: which of the items, and the list."""
    counts = np.minimum(memory.counts[items], most)
    found = ranges(memory.list_starts[items + 1] - counts, counts)
    return np.repeat(np.arange(len(items)), counts), memory.lists[found].astype(np.int64)
