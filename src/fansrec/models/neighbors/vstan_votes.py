"""The votes of V-STAN (vstan.py describes them). Needs no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.models.neighbors.config import VstanConfig
from fansrec.models.neighbors.similar_lists import distinct_items
from fansrec.models.ranges import ranges

SMALLEST = 1e-30  # divisors are not smaller, so that no quotient overflows

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


class Votes:
    """The votes of the neighbors of one input at a time, computed with numpy from the arrays of a list memory."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], config: VstanConfig) -> None:
        self.config, unit = config, config.memory_items / max(config.memory_lists, 1)
        self.input_decay, self.item_decay = config.input_decay * unit, config.item_decay * unit
        self.shared_decay = config.shared_decay * unit
        self.items, self.places, self.starts = arrays["items"], arrays["places"], arrays["starts"]
        self.lists, self.list_places, self.list_starts = arrays["lists"], arrays["list_places"], arrays["list_starts"]
        self.lengths, popularity = np.diff(self.starts), np.diff(self.list_starts)
        lists = len(self.lengths)
        ages = np.arange(lists)[::-1] / max(lists, 1)
        self.list_factors = decay(ages, config.list_decay) / np.sqrt(np.maximum(self.lengths, 1))
        idf = np.log(np.maximum(lists / np.maximum(popularity, 1), 1))
        self.item_factors = 1 + config.idf_weight * idf

    def __call__(self, given: Indices) -> NDArray[np.float32]:
        """Return the votes (M,) after the input `given`, at most 1."""
        items, weights = self.entries(self.neighbors(given))
        votes: Floats = np.bincount(items, weights, minlength=len(self.item_factors)) * self.item_factors
        return np.asarray(votes / max(votes.max(), SMALLEST), dtype=np.float32)

    def entries(self, neighbors: "WeightedNeighbors") -> tuple[Indices, Floats]:
        """Return the items of all neighbors and the vote of each entry, without the factor of its item."""
        count = self.lengths[neighbors.lists]
        found = ranges(self.starts[neighbors.lists], count)
        distance = np.abs(self.places[found] - np.repeat(neighbors.last_shared, count))
        return self.items[found], np.repeat(neighbors.weights, count) * decay(distance, self.item_decay)

    def neighbors(self, given: Indices) -> "WeightedNeighbors":
        """Return the neighbors of an input."""
        distinct, _, age = distinct_items(given, np.array([len(given)]), len(self.item_factors))
        count = self.list_starts[distinct + 1] - self.list_starts[distinct]
        found = ranges(self.list_starts[distinct], count)
        lists, ages = self.lists[found], np.repeat(age, count)
        sums = np.bincount(lists, decay(ages, self.input_decay), minlength=len(self.lengths))
        similarity = sums * self.list_factors
        sample = np.flatnonzero(similarity)[-self.config.sample_size :]  # all of them if it is 0
        neighbors = sample[np.argsort(similarity[sample], kind="stable")[-self.config.neighbors :]]
        last_shared, shared_age = np.zeros((2, len(self.lengths)), dtype=np.int64)
        np.maximum.at(last_shared, lists, self.list_places[found])
        shared_age[lists] = ages  # that of the last item is written last
        weights = similarity[neighbors] * decay(shared_age[neighbors], self.shared_decay)
        return WeightedNeighbors(neighbors, similarity[neighbors], weights, last_shared[neighbors])


@dataclass(frozen=True)
class WeightedNeighbors:
    """The neighbors of an input, (N,) each."""

    lists: Indices
    similarity: Floats
    weights: Floats  # of their votes
    last_shared: Indices  # last position with an item of the input


def decay(distance: Indices | Floats, scale: float) -> Floats:
    """Return exp(-distance / scale), or 1 if the scale is 0."""
    return np.exp(-distance / max(scale, SMALLEST)) if scale else np.ones(len(distance))
