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
from fansrec.models.limits import LIST_LENGTH
from fansrec.models.linear.cooccurrence import ranges
from fansrec.models.validation import check_indices, check_offsets

REACH = 15.0  # positions over which the effect of `near` falls to 1/e
ALIGNED_REACH = 2.0  # and that of `aligned`
MIN_RARITY = 0.05  # of an item that nearly every list contains
FEW_ITEMS = 5  # shorter inputs have more neighbors
MAX_LISTS_OF_ITEM = 2000  # the newest are compared; an item of more lists carries little information

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
        out = np.zeros((len(inputs), self.vocabulary), dtype=np.float32)
        for row, given in zip(out, inputs, strict=True):
            row[:] = lookup(np.asarray(given), config)
        return torch.from_numpy(out)


class Lookup:
    """Votes for one input at a time, computed with numpy from the memory's arrays."""

    def __init__(self, memory: ListMemory) -> None:
        names = ("items", "places", "starts", "lists", "list_places", "list_starts")
        self.arrays: dict[str, Any] = {name: getattr(memory, name).numpy() for name in names}
        self.vocabulary, self.lists = memory.vocabulary, len(memory)
        self.longest = int(self.arrays["places"].max(initial=0))
        self.length_factors: Floats = 1 / np.sqrt(np.maximum(np.diff(self.arrays["starts"]), 1))
        # The last value of `newer`, and the factors of all lists with it.
        self._factors: tuple[float, Floats] = (0.0, self.length_factors)

    def __call__(self, given: Indices, config: MemoryConfig) -> NDArray[np.float32]:
        """Return the votes (M,) for the input `given`."""
        neighbors, similarity, last_shared = self._compare(given, config)
        nearest = _nearest(similarity, voters(config, len(given)))
        if not len(nearest):
            return np.zeros(self.vocabulary, dtype=np.float32)
        neighbors, similarity, last_shared = neighbors[nearest], similarity[nearest], last_shared[nearest]
        weights = (similarity / similarity.max()) ** power(config, len(given))
        votes = self._votes(neighbors, weights, last_shared, config)
        votes[given] = 0
        highest = votes.max()
        return (votes / highest if highest > 0 else votes).astype(np.float32)

    def _compare(self, given: Indices, config: MemoryConfig) -> tuple[Indices, Floats, Indices]:
        """Return the lists that share an item with the input, the similarity of each, and where it has the last one."""
        distinct, age = distinct_items(given)
        starts = self.arrays["list_starts"]
        list_counts = starts[distinct + 1] - starts[distinct]
        count = np.minimum(list_counts, MAX_LISTS_OF_ITEM)
        found = ranges(starts[distinct + 1] - count, count)
        lists = self.arrays["lists"][found]
        rarity = np.maximum(np.log(max(1, self.lists) / np.maximum(list_counts, 1)), MIN_RARITY)
        places = self.arrays["list_places"][found]
        weights = np.repeat(rarity * (1 - config.recency * age / max(1, len(given))), count)
        if config.aligned:
            distance = np.abs(np.repeat(len(given) - 1 - age, count) - places)
            weights *= 1 + config.aligned * np.exp(-distance / ALIGNED_REACH)
        neighbors, index = self._distinct(lists)
        # bincount of an empty array returns integers.
        similarity: Floats = np.bincount(index, weights, minlength=len(neighbors)).astype(np.float64)
        last_shared = np.zeros(len(neighbors), dtype=np.int64)
        last_shared[index] = places  # the newest item is written last
        return neighbors, similarity * self.list_factors(config.newer)[neighbors], last_shared

    def _distinct(self, lists: Indices) -> tuple[Indices, Indices]:
        """Return the distinct ones of these lists in ascending order, and the index of each among them."""
        index = np.empty(self.lists, dtype=np.int64)  # of which only the entries of these lists are used
        index[lists] = np.arange(len(lists))
        distinct = np.sort(lists[index[lists] == np.arange(len(lists))])
        index[distinct] = np.arange(len(distinct))
        return distinct, index[lists]

    def list_factors(self, newer: float) -> Floats:
        """Return the factor (lists,) of each list's similarity by its length and its age."""
        last, factors = self._factors  # read once: another thread may replace them
        if last != newer:
            age = np.arange(self.lists - 1, -1, -1) / self.lists
            factors = self.length_factors * np.exp(-newer * age)
            self._factors = newer, factors
        return factors

    def _votes(self, neighbors: Indices, weights: Floats, last_shared: Indices, config: MemoryConfig) -> Floats:
        """Return the sum (M,) over neighbors of the list's weight times the weight of the item's position in it."""
        starts = self.arrays["starts"]
        count = starts[neighbors + 1] - starts[neighbors]
        found = ranges(starts[neighbors], count)
        weight = np.repeat(weights, count)
        if config.before != 1 or config.near:
            distance = self.arrays["places"][found] - np.repeat(last_shared, count)
            weight = weight * self._position_weights(config)[distance + self.longest]
        votes = np.bincount(self.arrays["items"][found], weight, minlength=self.vocabulary)
        return np.asarray(votes, dtype=np.float64)

    def _position_weights(self, config: MemoryConfig) -> Floats:
        """Return the weight of an item by its distance from the last shared one, from -`longest` to `longest`."""
        distance = np.arange(-self.longest, self.longest + 1)
        near: Floats = 1 + config.near * np.exp(-np.abs(distance) / REACH)
        return np.where(distance < 0, config.before, 1.0) * near


def voters(config: MemoryConfig, length: int) -> int:
    """Return how many lists vote for an input of this length: the shorter it is, the more lists are equally similar."""
    return config.neighbors * -(-FEW_ITEMS // min(max(1, length), FEW_ITEMS))


def power(config: MemoryConfig, length: int) -> float:
    """Return the power of the similarity; after a single item it would only give short lists more weight."""
    return config.sharpness if length > 1 else 1.0


def _nearest(similarity: Floats, count: int) -> Indices:
    """Return the indices of the `count` highest similarities above 0; ties go to the newest, as in every engine."""
    similar = np.flatnonzero(similarity)
    if len(similar) <= count:
        return similar
    least = np.partition(similarity, len(similarity) - count)[len(similarity) - count]
    more, equal = np.flatnonzero(similarity > least), np.flatnonzero(similarity == least)
    return np.sort(np.concatenate([more, equal[len(equal) - (count - len(more)) :]]))


def distinct_items(given: Indices) -> tuple[Indices, Indices]:
    """Return the distinct items of a list, the oldest first, and the distance of their last position from the end."""
    items, age = np.unique(given[::-1], return_index=True)
    order = np.argsort(-age)
    return items[order], age[order]


def _starts(groups: NDArray[np.int32], count: int) -> Indices:
    """Return where each of `count` groups starts once the entries are sorted by group, and the end of the last."""
    return np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=count))])
