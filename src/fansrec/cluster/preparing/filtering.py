"""The filter and the split over shards: in every round items are counted, then each shard is filtered by itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.item_counts import Counts, count_by_range, item_ranges, sum_counts
from fansrec.cluster.preparing.shuffle import Shard, ShardedLists
from fansrec.cluster.preparing.tasks import task, task_of_parts
from fansrec.data.categories import Report
from fansrec.data.filtering import filter_once, nothing_left
from fansrec.data.lists import Lists
from fansrec.data.prepare import compact_groups, compact_indices, split_and_report
from fansrec.data.settings import Preparation
from fansrec.data.splitting import TRAIN, ListKeys


@dataclass(frozen=True)
class FilteredShards:
    shards: list[ray.ObjectRef]
    lists: NDArray[np.int64]  # of each shard
    counts: NDArray[np.int64]  # of each item
    cut_lists: int


@dataclass(frozen=True)
class ShardedSelection:
    """The lists that passed the filter, in shards with new item indices without gaps."""

    shards: list[ray.ObjectRef]
    lengths: NDArray[np.int64]  # (lists,)
    ends: NDArray[np.int64]  # (shards,): where the lists of each shard end
    parts: NDArray[np.uint8]  # (lists,)
    ids: Sequence[str]
    indices: NDArray[np.int32]  # (items of the source,): the new indices, -1 for dropped items
    frequency: NDArray[np.int64]  # (items,): in the training lists
    keys: ListKeys

    @property
    def train(self) -> list[NDArray[np.bool_]]:
        """Which lists of each shard are training lists."""
        return np.split(self.parts == TRAIN, self.ends[:-1])


def filter_and_split(raw: ShardedLists, ids: pl.Series, preparation: Preparation, report: Report) -> ShardedSelection:
    """Do the same as `data.prepare.filter_and_split`."""
    filtered = filter_shards(raw, len(ids), preparation)
    if not filtered.lists.sum():
        raise nothing_left(sum(lists for lists, _ in raw.sizes), len(ids), filtered.cut_lists)
    keys = ListKeys(_groups(raw, filtered), _times(filtered) if preparation.split == "time" else None)
    parts = split_and_report(int(filtered.lists.sum()), filtered.counts, keys, preparation, report)
    return _reindex(filtered, parts, keys, ids.filter(pl.Series(filtered.counts > 0)).to_list())


def filter_shards(raw: ShardedLists, items: int, preparation: Preparation) -> FilteredShards:
    """Do the same as `data.filtering.filter_lists`; the driver holds only the counts of the items."""
    ranges = item_ranges(items)
    shards, sizes, cut_lists = raw.shards, np.array(raw.sizes, dtype=np.int64), 0
    counts = sum_counts([task_of_parts(len(ranges) - 1, _count, shard, ranges) for shard in shards], ranges)
    while True:
        frequent = ray.put(counts >= preparation.min_item_count)
        limits = preparation.min_length, preparation.max_length
        rounds = [task_of_parts(len(ranges) + 1, _filter_shard, shard, frequent, *limits, ranges) for shard in shards]
        shards = [returned[0] for returned in rounds]
        counts = sum_counts([returned[2:] for returned in rounds], ranges)
        results = np.array(ray.get([returned[1] for returned in rounds]), dtype=np.int64)
        cut_lists += int(results[:, 2].sum())
        if (results[:, :2].sum(axis=0) == sizes.sum(axis=0)).all():
            return FilteredShards(shards, results[:, 0], counts, cut_lists)
        sizes = results[:, :2]


def _count(shard: Shard, ranges: NDArray[np.int64]) -> tuple[Counts, ...]:
    return count_by_range(shard.lists.items, ranges)


def _filter_shard(
    shard: Shard, frequent: NDArray[np.bool_], min_length: int, max_length: int, ranges: NDArray[np.int64]
) -> tuple[Any, ...]:
    """Return the filtered shard, its numbers of lists, interactions and cut lists, and its item counts by range."""
    lists, kept, cut = filter_once(shard.lists, frequent, min_length, max_length)
    return shard.keep(lists, kept), (len(lists), len(lists.items), cut), *count_by_range(lists.items, ranges)


def _groups(raw: ShardedLists, filtered: FilteredShards) -> NDArray[np.int64] | None:
    """Return the group of every remaining list, numbered from 0 in the order of first occurrence in the source."""
    if not any(raw.group_names):
        return None
    indices: dict[str | None, int] = {}
    groups = []
    remaining = ray.get([task(_shard_groups, shard) for shard in filtered.shards])
    for names, of_shard in zip(raw.group_names, remaining, strict=True):
        global_groups = np.array([indices.setdefault(name, len(indices)) for name in names], dtype=np.int64)
        groups.append(global_groups[of_shard])
    return compact_groups(np.concatenate(groups))


def _shard_groups(shard: Shard) -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64) if shard.groups is None else shard.groups


def _times(filtered: FilteredShards) -> NDArray[np.int64]:
    """Return the time of every remaining list."""
    return np.concatenate(ray.get([task(_shard_times, shard) for shard in filtered.shards]))


def _shard_times(shard: Shard) -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64) if shard.times is None else shard.times


def _reindex(
    filtered: FilteredShards, parts: NDArray[np.uint8], keys: ListKeys, ids: Sequence[str]
) -> ShardedSelection:
    """Replace the item indices; leave out shards without a list."""
    filled = np.flatnonzero(filtered.lists)
    ends = np.cumsum(filtered.lists[filled])
    indices = compact_indices(filtered.counts)
    ranges, shared = item_ranges(len(ids)), ray.put(indices)
    done = [
        task_of_parts(len(ranges) + 1, _reindex_shard, filtered.shards[shard], shared, part == TRAIN, ranges)
        for shard, part in zip(filled.tolist(), np.split(parts, ends[:-1]), strict=True)
    ]
    lengths = np.concatenate(ray.get([returned[1] for returned in done]))
    frequency = sum_counts([returned[2:] for returned in done], ranges)
    return ShardedSelection([returned[0] for returned in done], lengths, ends, parts, ids, indices, frequency, keys)


def _reindex_shard(
    shard: Shard, indices: NDArray[np.int32], train: NDArray[np.bool_], ranges: NDArray[np.int64]
) -> tuple[Any, ...]:
    """Return the shard with new item indices, its list lengths, and its item counts in training by range."""
    lists = Lists(indices[shard.lists.items], shard.lists.offsets)
    return Shard(lists), lists.lengths, *count_by_range(lists.keep_lists(train).items, ranges)
