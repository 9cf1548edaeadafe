"""The lists that pass the filter, their parts, and their items without gaps, over shards."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.counting import by_ranges, item_ranges, summed
from fansrec.cluster.preparing.filtering import FilteredShards, filter_shards
from fansrec.cluster.preparing.gathering import Gathered, Shard
from fansrec.cluster.preparing.tasks import task, task_of_parts
from fansrec.data.filtering import account
from fansrec.data.lists import Lists
from fansrec.data.prepare import Say, nothing_left, say_split
from fansrec.data.settings import Preparation
from fansrec.data.splitting import TRAIN, split_lists


@dataclass(frozen=True)
class Source:
    """All that was read: shards of lists, and the id of every item number."""

    gathered: Gathered
    ids: pl.Series


@dataclass(frozen=True)
class SelectedShards:
    """What passed the filter, in shards whose items are numbered anew without gaps."""

    shards: list[ray.ObjectRef]
    lengths: NDArray[np.int64]  # of every list
    ends: NDArray[np.int64]  # where the lists of each shard end
    parts: NDArray[np.uint8]
    ids: Sequence[str]
    numbers: NDArray[np.int32]  # of every item of the source, -1 where it is gone
    frequency: NDArray[np.int64]  # of every item in the training lists

    @property
    def train(self) -> list[NDArray[np.bool_]]:
        """Which lists of each shard are to be learned from."""
        return np.split(self.parts == TRAIN, self.ends[:-1])


def select(source: Source, preparation: Preparation, say: Say) -> SelectedShards:
    """Filter the lists and split what is left."""
    filtered = filter_shards(source.gathered, len(source.ids), preparation)
    lists = int(filtered.lists.sum())
    if not lists:
        raise _nothing_left(source, filtered)
    left = filtered.counts > 0
    interactions = int(filtered.counts.sum())
    say(f"filtered: {lists:,} lists, {int(left.sum()):,} items, {interactions:,} interactions left")
    parts = split_lists(lists, _groups(source.gathered, filtered), preparation)
    say_split(parts, say)
    numbers = np.where(left, np.cumsum(left, dtype=np.int32) - np.int32(1), np.int32(-1))
    return _renumbered(filtered, parts, numbers, source.ids.filter(pl.Series(left)).to_list())


def _nothing_left(source: Source, filtered: FilteredShards) -> Exception:
    given = sum(lists for lists, _ in source.gathered.sizes)
    return nothing_left(given, account(len(source.ids), filtered.cut_lists, given))


def _groups(gathered: Gathered, filtered: FilteredShards) -> NDArray[np.int64] | None:
    """The groups of the lists that are left, numbered in the order in which all lists show them."""
    if not any(gathered.group_names):
        return None
    numbers: dict[str | None, int] = {}
    found = []
    left = ray.get([task(_groups_of, shard) for shard in filtered.shards])
    for names, groups in zip(gathered.group_names, left, strict=True):
        of_shard = np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)
        found.append(of_shard[groups])
    return np.concatenate(found)


def _groups_of(shard: Shard) -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64) if shard.groups is None else shard.groups


def _renumbered(
    filtered: FilteredShards, parts: NDArray[np.uint8], numbers: NDArray[np.int32], ids: Sequence[str]
) -> SelectedShards:
    """Shards without a list are left out."""
    filled = np.flatnonzero(filtered.lists)
    ends = np.cumsum(filtered.lists[filled])
    ranges, shared = item_ranges(len(ids)), ray.put(numbers)
    done = [
        task_of_parts(len(ranges) + 1, _numbered, filtered.shards[shard], shared, part == TRAIN, ranges)
        for shard, part in zip(filled.tolist(), np.split(parts, ends[:-1]), strict=True)
    ]
    lengths = np.concatenate(ray.get([returned[1] for returned in done]))
    frequency = summed([returned[2:] for returned in done], ranges)
    return SelectedShards([returned[0] for returned in done], lengths, ends, parts, ids, numbers, frequency)


def _numbered(
    shard: Shard, numbers: NDArray[np.int32], train: NDArray[np.bool_], ranges: NDArray[np.int64]
) -> tuple[Any, ...]:
    lists = Lists(numbers[shard.lists.items], shard.lists.offsets)
    frequency = by_ranges(lists.keep_lists(train).items, ranges)
    return Shard(lists), lists.lengths, *frequency
