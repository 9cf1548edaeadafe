"""A memory of the training lists: what stands in the lists most like the input.

Item-kNN and EASE add up what each item of the input says alone. Here whole lists answer: every training list is
compared with the input, those that share several items with it count far more than those that share one, and what they
hold is what is likely to come. It is the session-kNN of Jannach and Ludewig (2017) with rare items weighing more, a
power of the similarity in place of the similarity, and two ideas of Garg et al. (2019): recent items of the input
weigh more, and an item of a neighbour counts by where it stands beside the last one it shares with the input.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fansrec.models.limits import LIST_LENGTH
from fansrec.models.linear.cooccurrence import ranges
from fansrec.models.validation import check_indices, check_offsets

REACH = 15.0  # places: how far `near` is felt
ALIGNED_REACH = 2.0  # and `aligned`
COMMONEST = 0.05  # the weight of an item that nearly every list has
LISTS_OF_AN_ITEM = 2000  # at most are looked at, the newest: what so many lists have tells little

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Kernel:
    """How lists are compared, and what of the like ones counts."""

    sharpness: float = 2.0  # the power of the similarity
    recency: float = 0.0  # by how much the input's first item weighs less than its last
    before: float = 1.0  # the weight of what stands before the last shared item
    near: float = 0.0  # by how much more weigh the items around it
    neighbours: int = 500  # so many lists count
    aligned: float = 0.0  # by how much more weighs an item that stands at the same place in both lists


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
        # What has the size of all lists takes no memory until it is learned or loaded.
        self.register_buffer("items", torch.empty(memberships, dtype=torch.int32))  # list after list
        self.register_buffer("places", torch.empty(memberships, dtype=torch.int32))  # where each stands in its list
        self.register_buffer("starts", torch.zeros(lists + 1, dtype=torch.int64))
        self.register_buffer("lists", torch.empty(memberships, dtype=torch.int32))  # item after item
        self.register_buffer("list_places", torch.empty(memberships, dtype=torch.int32))
        self.register_buffer("list_starts", torch.zeros(vocabulary + 1, dtype=torch.int64))
        self._lookup: Lookup | None = None  # its arrays are views of the buffers

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "ListMemory":
        """Stay on the host: a lookup is many small steps, which numpy takes five times as fast as torch."""
        return self

    def learn(self, items: NDArray[np.int32], offsets: Numbers) -> None:
        """List i is `items[offsets[i]:offsets[i + 1]]`; an item that comes again counts where it stands first."""
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
        """Refuse arrays that point outside each other; no position may be beyond the highest of `places`."""
        check_offsets("starts", self.starts, len(self.items))
        check_offsets("list_starts", self.list_starts, len(self.lists))
        check_indices("items", self.items, self.vocabulary)
        check_indices("lists", self.lists, len(self))
        longest = check_indices("places", self.places, LIST_LENGTH)
        check_indices("list_places", self.list_places, longest + 1)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def vocabulary(self) -> int:
        return len(self.list_starts) - 1

    def strengths(self, inputs: Sequence[Numbers], kernel: Kernel, without: Numbers | None = None) -> Tensor:
        """(B, M): how strongly like lists speak for every item, the strongest 1; 0 for the items of the input.

        `without` names for each input a list that does not count: its own, when the memory is tried on what it holds.
        """
        self._lookup = lookup = self._lookup or Lookup(self)
        absent = [None] * len(inputs) if without is None else without.tolist()
        rows = [lookup(np.asarray(given), kernel, own) for given, own in zip(inputs, absent, strict=True)]
        return torch.from_numpy(np.stack(rows)) if rows else torch.zeros(0, self.vocabulary)


class Lookup:
    """One list after the other, over the memory's arrays as numpy sees them."""

    def __init__(self, memory: ListMemory) -> None:
        names = ("items", "places", "starts", "lists", "list_places", "list_starts")
        self.arrays: dict[str, Any] = {name: getattr(memory, name).numpy() for name in names}
        self.vocabulary, self.known = memory.vocabulary, len(memory)
        self.longest = int(self.arrays["places"].max(initial=0))
        self.shortness = 1 / np.sqrt(np.maximum(np.diff(self.arrays["starts"]), 1))

    def __call__(self, given: Numbers, kernel: Kernel, without: int | None = None) -> NDArray[np.float32]:
        like, last_shared = self._compare(given, kernel)
        if without is not None:
            like[without] = 0
        neighbours = np.flatnonzero(like)
        if len(neighbours) > kernel.neighbours:
            neighbours = _most_like(neighbours, like[neighbours], kernel.neighbours)
        if not len(neighbours):
            return np.zeros(self.vocabulary, dtype=np.float32)
        weights = (like[neighbours] / like[neighbours].max()) ** kernel.sharpness
        held = self._held(neighbours, weights, last_shared[neighbours], kernel)
        held[given] = 0
        strongest = held.max()
        return (held / strongest if strongest > 0 else held).astype(np.float32)

    def _compare(self, given: Numbers, kernel: Kernel) -> tuple[Floats, Numbers]:
        """How like every list is to the input, and where in it the last item stands that both have."""
        shared, age = _distinct(given)  # the oldest first
        starts = self.arrays["list_starts"]
        holders = starts[shared + 1] - starts[shared]
        count = np.minimum(holders, LISTS_OF_AN_ITEM)
        found = ranges(starts[shared + 1] - count, count)
        lists = self.arrays["lists"][found]
        rarity = np.maximum(np.log(self.known / np.maximum(holders, 1)), COMMONEST)
        places = self.arrays["list_places"][found]
        weights = np.repeat(rarity * (1 - kernel.recency * age / max(1, len(given))), count)
        if kernel.aligned:
            apart = np.abs(np.repeat(len(given) - 1 - age, count) - places)
            weights *= 1 + kernel.aligned * np.exp(-apart / ALIGNED_REACH)
        # Of no numbers at all, numpy counts in int.
        like: Floats = np.bincount(lists, weights, minlength=self.known).astype(np.float64)
        last_shared = np.zeros(self.known, dtype=np.int64)
        last_shared[lists] = places  # the newest item is written last
        return like * self.shortness, last_shared

    def _held(self, neighbours: Numbers, weights: Floats, last_shared: Numbers, kernel: Kernel) -> Floats:
        """What the neighbours hold: each item by the weight of its list and its place there."""
        starts = self.arrays["starts"]
        count = starts[neighbours + 1] - starts[neighbours]
        found = ranges(starts[neighbours], count)
        weight = np.repeat(weights, count)
        if kernel.before != 1 or kernel.near:
            distance = self.arrays["places"][found] - np.repeat(last_shared, count)
            weight = weight * self._worth(kernel)[distance + self.longest]
        held = np.bincount(self.arrays["items"][found], weight, minlength=self.vocabulary)
        return np.asarray(held, dtype=np.float64)

    def _worth(self, kernel: Kernel) -> Floats:
        """What an item counts by its distance from the last shared one, from -`longest` to `longest` places."""
        distance = np.arange(-self.longest, self.longest + 1)
        near: Floats = 1 + kernel.near * np.exp(-np.abs(distance) / REACH)
        return np.where(distance < 0, kernel.before, 1.0) * near


def _most_like(lists: Numbers, like: Floats, count: int) -> Numbers:
    """So many lists, in order; of those as like as the last one the newest, so that every engine takes the same."""
    least = np.partition(like, len(like) - count)[len(like) - count]
    more, equal = np.flatnonzero(like > least), np.flatnonzero(like == least)
    chosen: Numbers = lists[np.sort(np.concatenate([more, equal[len(equal) - (count - len(more)) :]]))]
    return chosen


def _distinct(given: Numbers) -> tuple[Numbers, Numbers]:
    """Each item of a list once, by its last place, and how many places before the end that is; the oldest first."""
    items, age = np.unique(given[::-1], return_index=True)
    order = np.argsort(-age)
    return items[order], age[order]


def _starts(sorted_numbers: NDArray[np.int32], count: int) -> Numbers:
    """Where the run of each of `count` numbers begins once they are sorted."""
    return np.concatenate([[0], np.cumsum(np.bincount(sorted_numbers, minlength=count))])
