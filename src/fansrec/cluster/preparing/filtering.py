"""The filter and the split over shards: in every round items are counted, then each shard is filtered by itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.shuffle import Shard, ShardedLists
from fansrec.cluster.preparing.tasks import Counts, sum_counts, task
from fansrec.data.categories import Report
from fansrec.data.filtering import filter_once, nothing_left
from fansrec.data.lists import Lists
from fansrec.data.prepare import compact_indices, split_and_report
from fansrec.data.settings import Preparation
from fansrec.data.splitting import TRAIN


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

    @property
    def train(self) -> list[NDArray[np.bool_]]:
        """Which lists of each shard are training lists."""
        return np.split(self.parts == TRAIN, self.ends[:-1])


def filter_and_split(raw: ShardedLists, ids: pl.Series, preparation: Preparation, report: Report) -> ShardedSelection:
    """Do the same as `data.prepare.filter_and_split`."""
    shards, lists, counts, cut_lists = _filter(raw, len(ids), preparation)
    if not lists.sum():
        raise nothing_left(sum(lists for lists, _ in raw.sizes), len(ids), cut_lists)
    parts = split_and_report(int(lists.sum()), counts, _groups(raw, shards), preparation, report)
    filled = np.flatnonzero(lists)  # shards without a list are left out
    ends = np.cumsum(lists[filled])
    indices = compact_indices(counts)
    shared = ray.put(indices)
    done = [
        task(_reindex_shard, shards[shard], shared, part == TRAIN, parts=3)
        for shard, part in zip(filled.tolist(), np.split(parts, ends[:-1]), strict=True)
    ]
    shards, lengths, frequency = ([*references] for references in zip(*done, strict=True))
    kept = ids.filter(pl.Series(counts > 0)).to_list()
    return ShardedSelection(
        shards, np.concatenate(ray.get(lengths)), ends, parts, kept, indices, _dense(frequency, len(kept))
    )


def _filter(
    raw: ShardedLists, items: int, preparation: Preparation
) -> tuple[list[ray.ObjectRef], NDArray[np.int64], NDArray[np.int64], int]:
    """Do the same as `data.filtering.filter_lists`; the driver holds only the counts of the items.

    Return the shards, the number of lists of each, how often each item occurs, and how many lists were cut.
    """
    shards, sizes, cut_lists = raw.shards, np.array(raw.sizes, dtype=np.int64), 0
    counts = _dense([task(_count, shard) for shard in shards], items)
    while True:
        frequent = ray.put(counts >= preparation.min_item_count)
        limits = preparation.min_length, preparation.max_length
        rounds = [task(_filter_shard, shard, frequent, *limits, parts=3) for shard in shards]
        shards = [returned[0] for returned in rounds]
        counts = _dense([returned[2] for returned in rounds], items)
        results = np.array(ray.get([returned[1] for returned in rounds]), dtype=np.int64)
        cut_lists += int(results[:, 2].sum())
        if (results[:, :2].sum(axis=0) == sizes.sum(axis=0)).all():
            return shards, results[:, 0], counts, cut_lists
        sizes = results[:, :2]


def _dense(counts: list[ray.ObjectRef], items: int) -> NDArray[np.int64]:
    """Return how often each item occurs in all shards, shape (items,)."""
    total = np.zeros(items, dtype=np.int64)
    occurring, of_each = sum_counts(counts)
    total[occurring] = of_each
    return total


def _count(shard: Shard) -> Counts:
    return np.unique(shard.lists.items, return_counts=True)


def _filter_shard(shard: Shard, frequent: NDArray[np.bool_], min_length: int, max_length: int) -> tuple[Any, ...]:
    """Return the filtered shard, its numbers of lists, interactions and cut lists, and its item counts."""
    lists, kept, cut = filter_once(shard.lists, frequent, min_length, max_length)
    filtered = Shard(lists, None if shard.groups is None else shard.groups[kept])
    return filtered, (len(lists), len(lists.items), cut), _count(filtered)


def _groups(raw: ShardedLists, shards: list[ray.ObjectRef]) -> NDArray[np.int64] | None:
    """Return the group of every remaining list, with indices in the order of first occurrence in the source."""
    if not any(raw.group_names):
        return None
    indices: dict[str | None, int] = {}
    groups = []
    remaining = ray.get([task(_shard_groups, shard) for shard in shards])
    for names, of_shard in zip(raw.group_names, remaining, strict=True):
        global_groups = np.array([indices.setdefault(name, len(indices)) for name in names], dtype=np.int64)
        groups.append(global_groups[of_shard])
    return np.concatenate(groups)


def _shard_groups(shard: Shard) -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64) if shard.groups is None else shard.groups


def _reindex_shard(shard: Shard, indices: NDArray[np.int32], train: NDArray[np.bool_]) -> tuple[Any, ...]:
    """Return the shard with new item indices, its list lengths, and its item counts in training."""
    lists = Lists(indices[shard.lists.items], shard.lists.offsets)
    return Shard(lists), lists.lengths, _count(Shard(lists.keep_lists(train)))
