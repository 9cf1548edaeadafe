"""The votes of a list memory: the training lists most similar to the input vote for their items.

Item-kNN and EASE add up the scores of single items of the input. Here every training list is compared with the whole
input, and lists that share several items with it count far more than those that share one. This is session-kNN
(Jannach and Ludewig, 2017) with a higher weight for rare items, a power of the similarity instead of the similarity,
and two ideas of STAN (Garg et al., 2019): recent items of the input weigh more, and an item of a neighbor is weighted
by its position relative to the most recent input item that the neighbor contains. MemoryConfig describes the settings.
Lists are in the order of the corpus: a newer list comes later in it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.models.neighbors.config import MemoryConfig
from fansrec.models.neighbors.list_search import MAX_LISTS_OF_ITEM, ListSearch, ListsOfItems
from fansrec.models.neighbors.similar_lists import Neighbors
from fansrec.models.ranges import ranges

REACH = 15.0  # positions over which the effect of `near` falls to 1/e

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


class Lookup(ListSearch):
    """Votes for a few inputs at a time, computed with numpy from the arrays of a list memory (list_memory.py)."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super().__init__(len(arrays["list_starts"]) - 1, arrays["starts"])
        self.arrays = arrays
        self.longest = int(self.arrays["places"].max(initial=0))

    def __call__(self, inputs: Sequence[Indices], config: MemoryConfig, out: NDArray[np.float32]) -> None:
        """Write the votes for the inputs to `out` (B, M)."""
        given, lengths = np.concatenate(inputs).astype(np.int64), np.array([len(one) for one in inputs])
        nearest, weights = self.neighbors(given, lengths, config)
        votes = self.sums(nearest, weights, len(inputs), config)
        votes[np.repeat(np.arange(len(inputs)), lengths), given] = 0
        scale(votes, votes.max(1), out)

    def lists_of(self, items: Indices) -> ListsOfItems:
        starts = self.arrays["list_starts"]
        counts = starts[items + 1] - starts[items]
        compared = np.minimum(counts, MAX_LISTS_OF_ITEM)
        found = ranges(starts[items + 1] - compared, compared)
        return ListsOfItems(counts, compared, self.arrays["lists"][found], self.arrays["list_places"][found])

    def sums(self, neighbors: Neighbors, weights: Floats, inputs: int, config: MemoryConfig) -> Floats:
        """Return the votes (B, M) of the neighbors of B inputs for every item."""
        keys, votes = self.entries(neighbors, weights, config)
        summed = np.bincount(keys, votes, minlength=inputs * self.vocabulary).astype(np.float64)
        return summed.reshape(inputs, self.vocabulary)

    def entries(self, neighbors: Neighbors, weights: Floats, config: MemoryConfig) -> tuple[Indices, Floats]:
        """Return the items of all neighbors, each plus the vocabulary times its input, and the vote of each entry.

        A vote is the list's weight times the weight of the item's position in it.
        """
        starts = self.arrays["starts"]
        count = starts[neighbors.lists + 1] - starts[neighbors.lists]
        found = ranges(starts[neighbors.lists], count)
        weight = np.repeat(weights, count)
        if config.before != 1 or config.near:
            # On a shard of a catalog, the last shared item may be behind all of its items.
            reach = max(self.longest, int(neighbors.last_shared.max(initial=0)))
            distance = self.arrays["places"][found] - np.repeat(neighbors.last_shared, count)
            weight = weight * position_weights(reach, config)[distance + reach]
        return np.repeat(neighbors.rows * self.vocabulary, count) + self.arrays["items"][found], weight


def position_weights(reach: int, config: MemoryConfig) -> Floats:
    """Return the weight of an item by its distance from the last shared one, from -`reach` to `reach`."""
    distance = np.arange(-reach, reach + 1)
    near: Floats = 1 + config.near * np.exp(-np.abs(distance) / REACH)
    return np.where(distance < 0, config.before, 1.0) * near


def scale(votes: Floats, highest: Floats, out: NDArray[np.float32]) -> None:
    """Write votes (B, M), divided by the highest of each row, (B,), to `out`."""
    np.divide(votes, np.where(highest > 0, highest, 1)[:, None], out=out, casting="same_kind")
