"""The iterated filter over shards: every round counts items by ranges, then each shard drops what is rare or short."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.counting import Counts, by_ranges, item_ranges, summed
from fansrec.cluster.preparing.gathering import Gathered, Shard
from fansrec.cluster.preparing.tasks import task_of_parts
from fansrec.data.filtering import filter_once
from fansrec.data.settings import Preparation


@dataclass(frozen=True)
class FilteredShards:
    shards: list[ray.ObjectRef]
    lists: NDArray[np.int64]  # of each shard
    counts: NDArray[np.int64]  # of each item
    cut_lists: int


def filter_shards(gathered: Gathered, items: int, preparation: Preparation) -> FilteredShards:
    """As `data.filtering.filter_lists`; the driver knows only how often each item occurs."""
    cuts = item_ranges(items)
    shards, sizes, cut_lists = gathered.shards, np.array(gathered.sizes, dtype=np.int64), 0
    counts = summed([task_of_parts(len(cuts) - 1, _counted, shard, cuts) for shard in shards], cuts)
    while True:
        frequent = ray.put(counts >= preparation.min_item_count)
        limits = preparation.min_length, preparation.max_length
        rounds = [task_of_parts(len(cuts) + 1, _round, shard, frequent, *limits, cuts) for shard in shards]
        shards = [returned[0] for returned in rounds]
        counts = summed([returned[2:] for returned in rounds], cuts)
        told = np.array(ray.get([returned[1] for returned in rounds]), dtype=np.int64)
        cut_lists += int(told[:, 2].sum())
        if (told[:, :2].sum(axis=0) == sizes.sum(axis=0)).all():
            return FilteredShards(shards, told[:, 0], counts, cut_lists)
        sizes = told[:, :2]


def _counted(shard: Shard, cuts: NDArray[np.int64]) -> tuple[Counts, ...]:
    return by_ranges(shard.lists.items, cuts)


def _round(
    shard: Shard, frequent: NDArray[np.bool_], shortest: int, longest: int, cuts: NDArray[np.int64]
) -> tuple[Any, ...]:
    lists, kept, cut = filter_once(shard.lists, frequent, shortest, longest)
    groups = None if shard.groups is None else shard.groups[kept]
    return Shard(lists, groups), (len(lists), len(lists.items), cut), *by_ranges(lists.items, cuts)
