"""What the coordinator collects from the shards about the items of the inputs: similar lists and linear scores."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.engine.interface import Inputs
from fansrec.engine.sharded.hybrid.question import Cells, Indices
from fansrec.engine.sharded.shards import Plan, Shards
from fansrec.models.hybrid.model import recency_weights
from fansrec.models.neighbors.config import MemoryConfig
from fansrec.models.neighbors.list_memory import CELLS_AT_ONCE
from fansrec.models.neighbors.list_search import ListSearch, ListsOfItems
from fansrec.models.neighbors.similar_lists import Neighbors
from fansrec.models.ranges import ranges


def ask_about(shards: Shards, plan: Plan, method: str, items: Indices) -> list[NDArray[Any]]:
    """Return what the shards answer about distinct items in ascending order: each of their arrays, concatenated."""
    questions = {shard: (own,) for shard, own in enumerate(plan.split(items)) if len(own)}
    return [np.concatenate(parts) for parts in zip(*shards.ask(method, questions), strict=True)]


class ShardedSearch(ListSearch):
    """Finds similar training lists whose items are on shards; the length of every list is known here."""

    def __init__(self, shards: Shards, plan: Plan, starts: Indices) -> None:
        super().__init__(plan.starts[-1], starts)
        self._shards, self._plan = shards, plan

    def lists_of(self, items: Indices) -> ListsOfItems:
        distinct, where = np.unique(items, return_inverse=True)
        if not len(distinct):
            return ListsOfItems(*(np.zeros(0, dtype=np.int64) for _ in ListsOfItems._fields))
        counts, compared, lists, places = ask_about(self._shards, self._plan, "lists_of", distinct)
        found = ranges((np.cumsum(compared) - compared)[where], compared[where])
        return ListsOfItems(counts[where], compared[where], lists[found], places[found])

    def nearest(self, inputs: Inputs, config: MemoryConfig) -> tuple[Neighbors, NDArray[np.float64]]:
        """Return the lists that vote for the inputs, and their weights."""
        step = max(1, CELLS_AT_ONCE // max(1, self.lists))
        parts = []
        for first in range(0, len(inputs), step):
            some = inputs[first : first + step]
            lengths = np.array([len(given) for given in some])
            found, weights = self.neighbors(np.concatenate(some), lengths, config)
            parts.append((found.rows + first, found.lists, found.similarity, found.last_shared, weights))
        *columns, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Neighbors(*columns), weights


def linear_scores(shards: Shards, plan: Plan, inputs: Inputs, decay: float) -> Cells:
    """Return the positive scores of the linear part, as `LinearPart.scores` does."""
    rows, items, scores = [], [], []
    distinct = np.unique(np.concatenate(inputs))
    to, weights = ask_about(shards, plan, "linear_rows", distinct) if len(distinct) else (distinct, distinct)
    for row, given in enumerate(inputs):
        where = distinct.searchsorted(given)
        found, index = np.unique(to[where].ravel(), return_inverse=True)
        recency = recency_weights(len(given), decay)
        sums = np.bincount(index, (weights[where] * recency[:, None]).ravel()) if len(given) else np.zeros(0)
        sums[np.isin(found, given)] = 0
        positive = sums > 0
        rows.append(np.full(np.count_nonzero(positive), row))
        items.append(found[positive].astype(np.int64))
        scores.append((sums[positive] / max(sums.max(initial=0.0), 1e-30)).astype(np.float32))
    return Cells(np.concatenate(rows), np.concatenate(items), np.concatenate(scores))
