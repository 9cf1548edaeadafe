"""A memory of the training lists: the lists most similar to the input vote for their items.

Item-kNN and EASE add up the scores of single items of the input. Here every training list is compared with the whole
input, and lists that share several items with it count far more than those that share one. This is session-kNN
(Jannach and Ludewig, 2017) with a higher weight for rare items, a power of the similarity instead of the similarity,
and two ideas of STAN (Garg et al., 2019): recent items of the input weigh more, and an item of a neighbor is weighted
by its position relative to the most recent input item that the neighbor contains. MemoryConfig describes the settings.
Lists are in the order of the corpus: a newer list comes later in it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fansrec.models.hybrid.config import MemoryConfig
from fansrec.models.hybrid.neighbors import Neighbors, distinct_items, distinct_keys
from fansrec.models.limits import LIST_LENGTH
from fansrec.models.linear.cooccurrence import ranges
from fansrec.models.threads import map_in_threads
from fansrec.models.validation import check_indices, check_offsets

REACH = 15.0  # positions over which the effect of `near` falls to 1/e
ALIGNED_REACH = 2.0  # and that of `aligned`
MIN_RARITY = 0.05  # of an item that nearly every list contains
FEW_ITEMS = 5  # shorter inputs have more neighbors
MAX_LISTS_OF_ITEM = 2000  # the newest are compared; an item of more lists carries little information

CELLS_AT_ONCE = 1 << 20  # lists, and items, of the inputs that are looked up together

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


class ListMemory(nn.Module):
    """The distinct items of every training list, and the lists of every item."""

    items: Tensor
    places: Tensor
    starts: Tensor
    lists: Tensor
    list_places: Tensor
    list_starts: Tensor

    def __init__(self, vocabulary: int, lists: int, memberships: int) -> None:
        super().__init__()
        # torch.empty takes no memory until it is written, so a model that is about to be loaded takes it once.
        self.register_buffer("items", torch.empty(memberships, dtype=torch.int32))  # list after list
        self.register_buffer("places", torch.empty(memberships, dtype=torch.int32))  # position of each in its list
        self.register_buffer("starts", torch.zeros(lists + 1, dtype=torch.int64))
        self.register_buffer("lists", torch.empty(memberships, dtype=torch.int32))  # item after item
        self.register_buffer("list_places", torch.empty(memberships, dtype=torch.int32))
        self.register_buffer("list_starts", torch.zeros(vocabulary + 1, dtype=torch.int64))
        self._lookup: Lookup | None = None  # its arrays are views of the buffers

    @classmethod
    def of(cls, vocabulary: int, items: NDArray[np.int32], offsets: Indices) -> "ListMemory":
        """Return a memory of these lists; `vocabulary` is the number of items."""
        memory = cls(vocabulary, 0, 0)
        memory.fit(items, offsets)
        return memory

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "ListMemory":
        """Ignore `.to(device)`: a lookup is many small steps, for which numpy is five times as fast as torch."""
        return self

    def fit(self, items: NDArray[np.int32], offsets: Indices) -> None:
        """Store the lists `items[offsets[i]:offsets[i + 1]]`; a repeated item counts at its first position."""
        lists = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        first = np.sort(np.unique(lists * self.vocabulary + items, return_index=True)[1])
        places = (first - offsets[lists[first]]).astype(np.int32)
        items, lists = np.asarray(items[first], dtype=np.int32), lists[first].astype(np.int32)
        by_item = np.argsort(items, kind="stable")
        self.items, self.places = torch.from_numpy(items), torch.from_numpy(places)
        self.starts = torch.from_numpy(_starts(lists, len(offsets) - 1))
        self.lists, self.list_places = torch.from_numpy(lists[by_item]), torch.from_numpy(places[by_item])
        self.list_starts = torch.from_numpy(_starts(items, self.vocabulary))
        self._lookup = None

    def check_arrays(self) -> None:
        """Raise BadArtifact if an index is outside its array, or `list_places` has a value above those of `places`."""
        check_offsets("starts", self.starts, len(self.items))
        check_offsets("list_starts", self.list_starts, len(self.lists))
        check_indices("items", self.items, self.vocabulary)
        check_indices("lists", self.lists, len(self))
        last = check_indices("places", self.places, LIST_LENGTH)
        check_indices("list_places", self.list_places, last + 1)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def vocabulary(self) -> int:
        return len(self.list_starts) - 1

    def votes(self, inputs: Sequence[Indices], config: MemoryConfig) -> Tensor:
        """Return the votes (B, M) of the neighbors for every item, scaled to a maximum of 1; input items get 0."""
        self._lookup = lookup = self._lookup or Lookup(self)
        out = np.empty((len(inputs), self.vocabulary), dtype=np.float32)
        step = max(1, CELLS_AT_ONCE // max(1, len(self), self.vocabulary))

        def vote(first: int) -> None:
            lookup(inputs[first : first + step], config, out[first : first + step])

        map_in_threads(vote, range(0, len(inputs), step))
        return torch.from_numpy(out)


class Lookup:
    """Votes for a few inputs at a time, computed with numpy from the memory's arrays."""

    def __init__(self, memory: ListMemory) -> None:
        names = ("items", "places", "starts", "lists", "list_places", "list_starts")
        self.arrays: dict[str, Any] = {name: getattr(memory, name).numpy() for name in names}
        self.vocabulary, self.lists = memory.vocabulary, len(memory)
        self.longest = int(self.arrays["places"].max(initial=0))
        self.length_factors: Floats = 1 / np.sqrt(np.maximum(np.diff(self.arrays["starts"]), 1))
        # The last value of `newer`, and the factors of all lists with it.
        self._factors: tuple[float, Floats] = (0.0, self.length_factors)

    def __call__(self, inputs: Sequence[Indices], config: MemoryConfig, out: NDArray[np.float32]) -> None:
        """Write the votes for the inputs to `out` (B, M)."""
        given, lengths = np.concatenate(inputs).astype(np.int64), np.array([len(one) for one in inputs])
        most = np.array([voters(config, len(one)) for one in inputs])
        nearest = self._compare(given, lengths, config).nearest(most)
        highest = np.zeros(len(lengths))
        np.maximum.at(highest, nearest.rows, nearest.similarity)
        weights = nearest.similarity / highest[nearest.rows]
        several = lengths[nearest.rows] > 1
        weights[several] **= config.sharpness  # after a single item it would only give short lists more weight
        votes = self._votes(nearest, weights, config, len(inputs))
        votes[np.repeat(np.arange(len(inputs)), lengths), given] = 0
        highest = votes.max(1, keepdims=True)
        np.divide(votes, np.where(highest > 0, highest, 1), out=out, casting="same_kind")

    def _compare(self, given: Indices, lengths: Indices, config: MemoryConfig) -> Neighbors:
        """Return the lists that share an item with each of the inputs, which are `given` one after the other."""
        items, rows, age = distinct_items(given, lengths, self.vocabulary)
        starts = self.arrays["list_starts"]
        list_counts = starts[items + 1] - starts[items]
        count = np.minimum(list_counts, MAX_LISTS_OF_ITEM)
        found = ranges(starts[items + 1] - count, count)
        rarity = np.maximum(np.log(max(1, self.lists) / np.maximum(list_counts, 1)), MIN_RARITY)
        places = self.arrays["list_places"][found]
        weights = np.repeat(rarity * (1 - config.recency * age / lengths[rows]), count)
        if config.aligned:
            distance = np.abs(np.repeat(lengths[rows] - 1 - age, count) - places)
            weights *= 1 + config.aligned * np.exp(-distance / ALIGNED_REACH)
        keys = np.repeat(rows * self.lists, count) + self.arrays["lists"][found]
        keys, index = distinct_keys(keys, len(lengths) * self.lists)
        # bincount of an empty array returns integers.
        similarity: Floats = np.bincount(index, weights, minlength=len(keys)).astype(np.float64)
        last_shared = np.zeros(len(keys), dtype=np.int64)
        last_shared[index] = places  # the newest item is written last
        rows, lists = np.divmod(keys, max(1, self.lists))
        return Neighbors(rows, lists, similarity * self.list_factors(config.newer)[lists], last_shared)

    def list_factors(self, newer: float) -> Floats:
        """Return the factor (lists,) of each list's similarity by its length and its age."""
        last, factors = self._factors  # read once: another thread may replace them
        if last != newer:
            age = np.arange(self.lists - 1, -1, -1) / self.lists
            factors = self.length_factors * np.exp(-newer * age)
            self._factors = newer, factors
        return factors

    def _votes(self, neighbors: Neighbors, weights: Floats, config: MemoryConfig, inputs: int) -> Floats:
        """Return the sums (B, M) over neighbors of the list's weight times the weight of the item's position in it."""
        starts = self.arrays["starts"]
        count = starts[neighbors.lists + 1] - starts[neighbors.lists]
        found = ranges(starts[neighbors.lists], count)
        weight = np.repeat(weights, count)
        if config.before != 1 or config.near:
            distance = self.arrays["places"][found] - np.repeat(neighbors.last_shared, count)
            weight = weight * self._position_weights(config)[distance + self.longest]
        keys = np.repeat(neighbors.rows * self.vocabulary, count) + self.arrays["items"][found]
        votes = np.bincount(keys, weight, minlength=inputs * self.vocabulary)
        return np.asarray(votes, dtype=np.float64).reshape(inputs, self.vocabulary)

    def _position_weights(self, config: MemoryConfig) -> Floats:
        """Return the weight of an item by its distance from the last shared one, from -`longest` to `longest`."""
        distance = np.arange(-self.longest, self.longest + 1)
        near: Floats = 1 + config.near * np.exp(-np.abs(distance) / REACH)
        return np.where(distance < 0, config.before, 1.0) * near


def voters(config: MemoryConfig, length: int) -> int:
    """Return how many lists vote for an input of this length: the shorter it is, the more lists are equally similar."""
    return config.neighbors * -(-FEW_ITEMS // min(max(1, length), FEW_ITEMS))


def _starts(groups: NDArray[np.int32], count: int) -> Indices:
    """Return where each of `count` groups starts once the entries are sorted by group, and the end of the last."""
    return np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=count))])
