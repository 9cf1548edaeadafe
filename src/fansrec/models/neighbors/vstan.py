"""V-STAN: the items of the training lists most similar to the input, weighted by their positions.

V-STAN (Ludewig et al., UMUAI 2020; its code is part of the framework session-rec) combines STAN (Garg et al., SIGIR
2019) with V-SKNN. The last item of the input has age 0, the one before it age 1. The training lists most similar to the
input are its neighbors, and a neighbor votes for all of its items:

    similarity of n   sum over the input items in n of exp(-age / input_decay), divided by the root of the number of
                      distinct items of n, times exp(-age of n / list_decay)
    vote of n for i   similarity of n * exp(-|position of i - position of the last shared item in n| / item_decay)
                      * exp(-age of the last input item in n / shared_decay) * (1 + idf_weight * idf of i)

STAN has no shared_decay and no idf_weight, and its last shared item is the one that comes last in the input; here, as
in session-rec, it is the one that comes last in n.

Differences: lists have no dates, so the age of a list is the share of training lists that come after it in the corpus.
The decays of positions are given in mean lengths of training lists, as in the search ranges of session-rec, so that
they suit short and long lists. All lists that share an item with the input are compared with it unless `sample_size` is
set. A repeated item counts at its last position in an input and at its first position in a training list, and idf
counts lists instead of occurrences. Votes are divided by the highest, so the norm of the input is left out of the
cosine; equal scores are ordered by popularity. Of equally similar lists, the newest are neighbors.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.models.config import NOT_NEGATIVE, ItemsConfig, setting
from fansrec.models.contract import Inputs
from fansrec.models.linear.cooccurrence import ranges
from fansrec.models.linear.item_weights import TIE, shares
from fansrec.models.linear.popularity import ClosedFormModel
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.models.neighbors.similar_lists import distinct_items

SMALLEST = 1e-30  # divisors are not smaller, so that no quotient overflows

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class VstanConfig(ItemsConfig):
    """A decay is the distance after which a weight is 1/e, in mean lengths of training lists; 0: no decay."""

    memory_lists: int = setting(0, NOT_NEGATIVE)  # number of training lists
    memory_items: int = setting(0, NOT_NEGATIVE)  # distinct items of each list, summed over all lists
    neighbors: int = setting(100, "must be at least 1")  # k
    sample_size: int = setting(0, NOT_NEGATIVE)  # newest lists that are compared with the input; 0: all
    input_decay: float = setting(0.0, NOT_NEGATIVE)  # lambda_spw
    list_decay: float = setting(0.0, NOT_NEGATIVE)  # lambda_snh, in shares of all training lists
    item_decay: float = setting(1.0, NOT_NEGATIVE)  # lambda_inh
    shared_decay: float = setting(0.25, NOT_NEGATIVE)  # lambda_ipw
    idf_weight: float = setting(0.2, NOT_NEGATIVE)  # lambda_idf


class Vstan(ClosedFormModel):
    name: ClassVar[str] = "vstan"
    title: ClassVar[str] = "V-STAN"
    search: ClassVar[dict[str, tuple[float, ...]]] = {  # more than of other models, since fitting takes no time
        "neighbors": (100, 300),
        "input_decay": (0.0, 0.25),
        "list_decay": (0.0, 2.0),
        "shared_decay": (0.125, 0.25),
        "idf_weight": (0.0, 0.2, 5.0),
    }
    scoring: ClassVar[tuple[str, ...]] = tuple(search)
    popularity: Tensor

    def __init__(self, config: VstanConfig) -> None:
        super().__init__(config)
        items = config.category_starts[-1]
        self.memory = ListMemory(items, config.memory_lists, config.memory_items)
        self.register_buffer("popularity", torch.zeros(items))

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Store the lists `items[offsets[i]:offsets[i + 1]]`; their number becomes part of `config`."""
        self.memory.fit(items, offsets)
        self.popularity = shares(self.memory.list_starts.diff().numpy())
        self.config = replace(self.config, memory_lists=len(self.memory), memory_items=len(self.memory.items))

    def score_next(self, inputs: Inputs) -> Tensor:
        """Return the scores (B, M) of the next item."""
        votes = Votes(self.memory, self.config)
        rows = np.stack([votes(np.asarray(given, dtype=np.int64)) for given in inputs])
        return torch.from_numpy(rows).to(self.popularity) + TIE * self.popularity


class Votes:
    """The votes of the neighbors of one input at a time, computed with numpy from the arrays of a list memory."""

    def __init__(self, memory: ListMemory, config: VstanConfig) -> None:
        self.config, unit = config, config.memory_items / max(config.memory_lists, 1)
        self.input_decay, self.item_decay = config.input_decay * unit, config.item_decay * unit
        self.shared_decay = config.shared_decay * unit
        self.items, self.places, self.starts = memory.items.numpy(), memory.places.numpy(), memory.starts.numpy()
        self.lists, self.list_places = memory.lists.numpy(), memory.list_places.numpy()
        self.list_starts = memory.list_starts.numpy()
        self.lengths, popularity = np.diff(self.starts), np.diff(self.list_starts)
        ages = np.arange(len(memory))[::-1] / max(len(memory), 1)
        self.list_factors = decay(ages, config.list_decay) / np.sqrt(np.maximum(self.lengths, 1))
        idf = np.log(np.maximum(len(memory) / np.maximum(popularity, 1), 1))
        self.item_factors = 1 + config.idf_weight * idf

    def __call__(self, given: Indices) -> NDArray[np.float32]:
        """Return the votes (M,) after the input `given`, at most 1."""
        neighbors, weights, last_shared = self._neighbors(given)
        count = self.lengths[neighbors]
        found = ranges(self.starts[neighbors], count)
        distance = np.abs(self.places[found] - np.repeat(last_shared, count))
        weights = np.repeat(weights, count) * decay(distance, self.item_decay)
        votes: Floats = np.bincount(self.items[found], weights, minlength=len(self.item_factors)) * self.item_factors
        return np.asarray(votes / max(votes.max(), SMALLEST), dtype=np.float32)

    def _neighbors(self, given: Indices) -> tuple[Indices, Floats, Indices]:
        """Return the neighbors, their weights, and the last position of each with an item of the input."""
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
        return neighbors, weights, last_shared[neighbors]


def decay(distance: Indices | Floats, scale: float) -> Floats:
    """Return exp(-distance / scale), or 1 if the scale is 0."""
    return np.exp(-distance / max(scale, SMALLEST)) if scale else np.ones(len(distance))
