"""The training lists most similar to an input: session-kNN with rarity, recency and alignment of the shared items.

`ListSearch` does not know where the lists of an item are: in this process (list_votes.py) or on the shards of a catalog
(engine/sharded/hybrid/memory.py).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fansrec.models.neighbors.config import MemoryConfig
from fansrec.models.neighbors.similar_lists import Neighbors, distinct_items, distinct_keys

ALIGNED_REACH = 2.0  # positions over which the effect of `aligned` falls to 1/e
MIN_RARITY = 0.05  # of an item that nearly every list contains
FEW_ITEMS = 5  # shorter inputs have more neighbors
MAX_LISTS_OF_ITEM = 2000  # the newest are compared; an item of more lists carries little information

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


class ListsOfItems(NamedTuple):
    """The lists that contain some items."""

    counts: Indices  # (n,): of all lists of each item
    compared: Indices  # (n,): how many of them are compared with an input
    lists: NDArray[Any]  # these, item after item
    places: NDArray[Any]  # where the item is in each of them


class ListSearch:
    """Finds the lists most similar to inputs; `starts` (lists + 1,) are the offsets of the lists."""

    def __init__(self, vocabulary: int, starts: Indices) -> None:
        self.vocabulary, self.lists = vocabulary, len(starts) - 1
        self.length_factors: Floats = 1 / np.sqrt(np.maximum(np.diff(starts), 1))
        # The last value of `newer`, and the factors of all lists with it.
        self._factors: tuple[float, Floats] = (0.0, self.length_factors)

    def lists_of(self, items: Indices) -> ListsOfItems:
        """Return the lists that contain each of `items`, in which an item may be repeated."""
        raise NotImplementedError

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
        counts, count, lists, places = self.lists_of(items)
        weights = np.repeat(self.item_weights(counts, age, lengths[rows], config), count)
        weights *= alignment(np.repeat(lengths[rows] - 1 - age, count), places, config)
        keys = np.repeat(rows * self.lists, count) + lists
        keys, index = distinct_keys(keys, len(lengths) * self.lists)
        # bincount of an empty array returns integers.
        similarity: Floats = np.bincount(index, weights, minlength=len(keys)).astype(np.float64)
        last_shared = np.zeros(len(keys), dtype=np.int64)
        last_shared[index] = places  # the newest item is written last
        rows, lists = np.divmod(keys, max(1, self.lists))
        return Neighbors(rows, lists, similarity * self.list_factors(config.newer)[lists], last_shared)

    def item_weights(self, counts: Indices, age: Indices, lengths: Indices, config: MemoryConfig) -> Floats:
        """Return what shared items, which `counts` lists contain, add to a similarity; rare and recent ones more."""
        rarity = np.log(max(1, self.lists) / np.maximum(counts, 1))
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


def alignment(positions: Indices, places: Indices, config: MemoryConfig) -> Floats | float:
    """Return the factor of shared items by their positions in the input and their places in the list."""
    if not config.aligned:
        return 1.0
    factors: Floats = 1 + config.aligned * np.exp(-np.abs(positions - places) / ALIGNED_REACH)
    return factors


def voters(config: MemoryConfig, length: int) -> int:
    """Return how many lists vote for an input of this length: the shorter it is, the more lists are equally similar."""
    return config.neighbors * -(-FEW_ITEMS // min(max(1, length), FEW_ITEMS))
