"""What is known of items that the network was not trained with: the lists that contain them, and items like them.

An item of few lists, or of none, borrows the lists of its proxies (proxies.py). The more lists it has itself, the less
it borrows. Everything else about a new item (its category, its vector, its item-item weights) follows from this
evidence, so that it depends on the final lists and descriptions alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fansrec.models.ranges import ranges
from fansrec.updating.memory import Indices, Memory

Floats = NDArray[np.float64]

MAX_LISTS = 1000  # of an item, the newest: more say little more
MAX_PROXY_LISTS = 50  # of each proxy, the newest
BORROWED = 0.5  # an item without lists is taken to be in this share of the lists of a mean proxy


@dataclass(frozen=True)
class Evidence:
    """Weighted lists of A new items: entry e says that item `rows[e]` is in list `lists[e]`, with `weights[e]`."""

    rows: Indices
    lists: Indices
    weights: Floats
    counts: Floats  # (A,): the number of lists of each item, its own and borrowed ones

    def together(self, memory: Memory) -> tuple[Indices, Indices, Floats]:
        """Return the pairs of a new item and an item that shares lists with it, and the weight of these lists."""
        sizes = memory.starts[self.lists + 1] - memory.starts[self.lists]
        others = memory.items[ranges(memory.starts[self.lists], sizes)].astype(np.int64)
        keys, index = np.unique(np.repeat(self.rows, sizes) * memory.vocabulary + others, return_inverse=True)
        rows, others = np.divmod(keys, memory.vocabulary)
        together = np.bincount(index, np.repeat(self.weights, sizes), len(keys)).astype(np.float64)
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
