"""Categories for items without one, from their neighbours in the lists of all shards."""

import numpy as np
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.counting import item_ranges, split_ranges
from fansrec.cluster.preparing.gathering import Shard
from fansrec.cluster.preparing.selecting import SelectedShards
from fansrec.cluster.preparing.tasks import task, task_of_parts
from fansrec.data import categorizer

Votes = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]  # items, categories, counts


def fill_from_neighbours(labels: NDArray[np.int64], selected: SelectedShards) -> NDArray[np.int64]:
    """As `categorizer.fill_from_neighbours`: shards count votes, a task for each range of items finds who won."""
    if not np.any(labels == categorizer.UNKNOWN):
        return labels
    cuts, shared = item_ranges(len(labels)), ray.put(labels)
    ballots = [
        task_of_parts(len(cuts) - 1, _votes, shard, mask, shared, cuts)
        for shard, mask in zip(selected.shards, selected.train, strict=True)
    ]
    winners = [task(_winners, *of_range) for of_range in zip(*ballots, strict=True)]
    items, categories, counts = (np.concatenate(column) for column in zip(*ray.get(winners), strict=True))
    return categorizer.elected(labels, items, categories, counts)


def _votes(
    shard: Shard, train: NDArray[np.bool_], labels: NDArray[np.int64], cuts: NDArray[np.int64]
) -> tuple[Votes, ...]:
    return split_ranges(categorizer.votes(labels, shard.lists.keep_lists(train)), cuts)


def _winners(*parts: Votes) -> Votes:
    """Of every item the category with most votes, the lowest where several have as many."""
    items, categories, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    base = int(categories.max(initial=0)) + 1
    pairs, place = np.unique(items * base + categories, return_inverse=True)
    sums = np.bincount(place, weights=counts, minlength=len(pairs)).astype(np.int64)
    order = np.lexsort((pairs % base, -sums, pairs // base))
    first = order[np.unique(pairs[order] // base, return_index=True)[1]]
    return pairs[first] // base, pairs[first] % base, sums[first]
