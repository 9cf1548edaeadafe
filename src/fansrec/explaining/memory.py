"""Evidence of the list memory of the hybrid model and of V-STAN."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.explaining.evidence import Columns, Evidence, Floats, Indices, Input, columns_of, divided
from fansrec.explaining.voting import Voters, support
from fansrec.models.hybrid.config import FLOOR
from fansrec.models.neighbors.config import MemoryConfig
from fansrec.models.neighbors.list_search import MAX_LISTS_OF_ITEM, alignment
from fansrec.models.neighbors.list_votes import Lookup
from fansrec.models.neighbors.vstan_votes import SMALLEST, Votes, decay
from fansrec.models.ranges import ranges


@dataclass(frozen=True)
class MemoryEvidence:
    """The list memory of a hybrid model, with its weight in the mixture."""

    lookup: Lookup
    config: MemoryConfig
    weight: float

    def __call__(self, input: Input, items: Indices) -> Evidence:
        """Return the evidence for `items` (K,) after an input."""
        lookup, starts = self.lookup, self.lookup.arrays["starts"]
        nearest, weights = lookup.neighbors(input.given, np.array([len(input.given)]), self.config)
        entries, votes = lookup.entries(nearest, weights, self.config)
        totals = np.bincount(entries, votes, minlength=lookup.vocabulary)
        totals[input.given] = 0
        counts = starts[nearest.lists + 1] - starts[nearest.lists]
        voters = Voters(nearest.lists, nearest.similarity, np.repeat(np.arange(len(counts)), counts), entries, votes)
        found = support(voters, items, lookup.vocabulary, lambda lists: self._shared(input, lists))
        terms = self.weight * np.log1p(totals[items] / max(totals.max(initial=0), SMALLEST) / FLOOR)
        return Evidence({"memory": terms}, divided(terms, found.by_input), found.lists)

    def _shared(self, input: Input, lists: Indices) -> Floats:
        """Return what each of the D distinct input items adds to the similarity of some lists, (n, D)."""
        arrays, config, distinct, length = self.lookup.arrays, self.config, input.distinct, len(input.given)
        slots, columns, found = shared_entries(arrays, lists, distinct, self.lookup.vocabulary)
        starts, ends = arrays["list_starts"][distinct], arrays["list_starts"][distinct + 1]
        weights = self.lookup.item_weights(ends - starts, input.age, np.array(length), config)
        first = np.maximum(starts, ends - MAX_LISTS_OF_ITEM)
        oldest = arrays["lists"][np.minimum(first, len(arrays["lists"]) - 1)]  # (D,) the first list that is compared
        compared = lists[slots] >= oldest[columns]
        factors = alignment(length - 1 - input.age[columns], arrays["places"][found], config)
        return scattered(slots, columns, weights[columns] * factors * compared, (len(lists), len(distinct)))


@dataclass(frozen=True)
class VstanEvidence:
    """The list memory of V-STAN."""

    votes: Votes
    vocabulary: int

    def __call__(self, input: Input, items: Indices) -> Evidence:
        """Return the evidence for `items` (K,) after an input."""
        model, nearest = self.votes, self.votes.neighbors(input.given)
        order = np.argsort(nearest.lists)
        entries, votes = model.entries(nearest)
        votes = votes * model.item_factors[entries]
        totals = np.bincount(entries, votes, minlength=self.vocabulary)
        slots = np.repeat(np.argsort(order), model.lengths[nearest.lists])
        voters = Voters(nearest.lists[order], nearest.similarity[order], slots, entries, votes)
        found = support(voters, items, self.vocabulary, lambda lists: self._shared(input, lists))
        terms = totals[items] / max(totals.max(initial=0), SMALLEST)
        return Evidence({"memory": terms}, divided(terms, found.by_input), found.lists)

    def _shared(self, input: Input, lists: Indices) -> Floats:
        model = self.votes
        weights = decay(input.age, model.input_decay)
        arrays = {"starts": model.starts, "items": model.items}
        slots, columns, _ = shared_entries(arrays, lists, input.distinct, self.vocabulary)
        return scattered(slots, columns, weights[columns], (len(lists), len(input.distinct)))


def shared_entries(arrays: Any, lists: Indices, distinct: Indices, vocabulary: int) -> tuple[Indices, Columns, Indices]:
    """Return the entries of some lists that are input items: of which list, which item, and their indices."""
    starts = arrays["starts"]
    counts = starts[lists + 1] - starts[lists]
    found = ranges(starts[lists], counts)
    columns = columns_of(distinct, vocabulary)[arrays["items"][found]]
    here = np.flatnonzero(columns >= 0)
    return np.repeat(np.arange(len(lists)), counts)[here], columns[here], found[here]


def scattered(rows: Indices, columns: Columns, values: NDArray[Any], shape: tuple[int, int]) -> Floats:
    """Return an array of this shape with the values at (rows, columns), and 0 elsewhere."""
    out = np.zeros(shape)
    out[rows, columns] = values
    return out
