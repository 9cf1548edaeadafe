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
from fansrec.models.neighbors.similar_lists import Neighbors, distinct_items, distinct_keys
from fansrec.models.ranges import ranges

REACH = 15.0  # positions over which the effect of `near` falls to 1/e
ALIGNED_REACH = 2.0  # and that of `aligned`
MIN_RARITY = 0.05  # of an item that nearly every list contains
FEW_ITEMS = 5  # shorter inputs have more neighbors
MAX_LISTS_OF_ITEM = 2000  # the newest are compared; an item of more lists carries little information

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


class Lookup:
    """Votes for a few inputs at a time, computed with numpy from the arrays of a list memory (list_memory.py)."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.arrays = arrays
        self.vocabulary, self.lists = len(arrays["list_starts"]) - 1, len(arrays["starts"]) - 1
        self.longest = int(self.arrays["places"].max(initial=0))
        self.length_factors: Floats = 1 / np.sqrt(np.maximum(np.diff(self.arrays["starts"]), 1))
        # The last value of `newer`, and the factors of all lists with it.
        self._factors: tuple[float, Floats] = (0.0, self.length_factors)

    def __call__(self, inputs: Sequence[Indices], config: MemoryConfig, out: NDArray[np.float32]) -> None:
        """Write the votes for the inputs to `out` (B, M)."""
        given, lengths = np.concatenate(inputs).astype(np.int64), np.array([len(one) for one in inputs])
        nearest, weights = self.neighbors(given, lengths, config)
        keys, weights = self.entries(nearest, weights, config)
        votes = np.bincount(keys, weights, minlength=len(inputs) * self.vocabulary).astype(np.float64)
        votes = votes.reshape(len(inputs), self.vocabulary)
        votes[np.repeat(np.arange(len(inputs)), lengths), given] = 0
        highest = votes.max(1, keepdims=True)
        np.divide(votes, np.where(highest > 0, highest, 1), out=out, casting="same_kind")

    def neighbors(self, given: Indices, lengths: Indices, config: MemoryConfig) -> tuple[Neighbors, Floats]:
        """Return the lists that vote for the inputs, which are `given` one after the other, and their weights."""
        most = np.array([voters(config, length) for length in lengths.tolist()])
        nearest = self._compare(given, lengths, config).nearest(most)
        highest = np.zeros(len(lengths))
        np.maximum.at(highest, nearest.rows, nearest.similarity)
        weights = nearest.similarity / highest[nearest.rows]
        several = lengths[nearest.rows] > 1
        weights[several] **= config.sharpness  # after a single item it would only give short lists more weight
        return nearest, weights

    def _compare(self, given: Indices, lengths: Indices, config: MemoryConfig) -> Neighbors:
        """Return the lists that share an item with each of the inputs, which are `given` one after the other."""
        items, rows, age = distinct_items(given, lengths, self.vocabulary)
        starts = self.arrays["list_starts"]
        list_counts = starts[items + 1] - starts[items]
        count = np.minimum(list_counts, MAX_LISTS_OF_ITEM)
        found = ranges(starts[items + 1] - count, count)
        places = self.arrays["list_places"][found]
        weights = np.repeat(self.item_weights(items, age, lengths[rows], config), count)
        weights *= alignment(np.repeat(lengths[rows] - 1 - age, count), places, config)
        keys = np.repeat(rows * self.lists, count) + self.arrays["lists"][found]
        keys, index = distinct_keys(keys, len(lengths) * self.lists)
        # bincount of an empty array returns integers.
        similarity: Floats = np.bincount(index, weights, minlength=len(keys)).astype(np.float64)
        last_shared = np.zeros(len(keys), dtype=np.int64)
        last_shared[index] = places  # the newest item is written last
        rows, lists = np.divmod(keys, max(1, self.lists))
        return Neighbors(rows, lists, similarity * self.list_factors(config.newer)[lists], last_shared)

    def item_weights(self, items: Indices, age: Indices, lengths: Indices, config: MemoryConfig) -> Floats:
        """Return what shared items add to a similarity; rare and recent ones of the input count more."""
        starts = self.arrays["list_starts"]
        rarity = np.log(max(1, self.lists) / np.maximum(starts[items + 1] - starts[items], 1))
        weights: Floats = np.maximum(rarity, MIN_RARITY) * (1 - config.recency * age / lengths)
        return weights

    def list_factors(self, newer: float) -> Floats:
        """Return the factor (lists,) of each list's similarity by its length and its age."""
        last, factors = self._factors  # read once: another thread may replace them
        if last != newer:
            age = np.arange(self.lists - 1, -1, -1) / self.lists
            factors = self.length_factors * np.exp(-newer * age)
            self._factors = newer, factors
        return factors

    def entries(self, neighbors: Neighbors, weights: Floats, config: MemoryConfig) -> tuple[Indices, Floats]:
        """Return the items of all neighbors, each plus the vocabulary times its input, and the vote of each entry.

        A vote is the list's weight times the weight of the item's position in it.
        """
        starts = self.arrays["starts"]
        count = starts[neighbors.lists + 1] - starts[neighbors.lists]
        found = ranges(starts[neighbors.lists], count)
        weight = np.repeat(weights, count)
        if config.before != 1 or config.near:
            distance = self.arrays["places"][found] - np.repeat(neighbors.last_shared, count)
            weight = weight * self._position_weights(config)[distance + self.longest]
        return np.repeat(neighbors.rows * self.vocabulary, count) + self.arrays["items"][found], weight

    def _position_weights(self, config: MemoryConfig) -> Floats:
        """Return the weight of an item by its distance from the last shared one, from -`longest` to `longest`."""
        distance = np.arange(-self.longest, self.longest + 1)
        near: Floats = 1 + config.near * np.exp(-np.abs(distance) / REACH)
        return np.where(distance < 0, config.before, 1.0) * near


def alignment(positions: Indices, places: Indices, config: MemoryConfig) -> Floats | float:
    """Return the factor of shared items by their positions in the input and their places in the list."""
    if not config.aligned:
        return 1.0
    factors: Floats = 1 + config.aligned * np.exp(-np.abs(positions - places) / ALIGNED_REACH)
    return factors


def voters(config: MemoryConfig, length: int) -> int:
    """Return how many lists vote for an input of this length: the shorter it is, the more lists are equally similar."""
    return config.neighbors * -(-FEW_ITEMS // min(max(1, length), FEW_ITEMS))
