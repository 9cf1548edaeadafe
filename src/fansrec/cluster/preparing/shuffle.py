"""Shards of whole lists: the pieces themselves, or rows grouped by list (grouping.py)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.item_index import global_indices
from fansrec.cluster.preparing.reading import PieceInfo
from fansrec.cluster.preparing.tasks import task, task_of_parts
from fansrec.data.lists import Lists


@dataclass(frozen=True)
class Shard:
    """A run of consecutive lists, the shard's own indices of the groups they are split by, and their times."""

    lists: Lists
    groups: NDArray[np.int64] | None = None
    times: NDArray[np.int64] | None = None

    def keep(self, lists: Lists, kept: NDArray[np.bool_]) -> "Shard":
        """Return a shard of `lists`, which are those that are True in `kept`, changed."""
        groups, times = (None if values is None else values[kept] for values in (self.groups, self.times))
        return Shard(lists, groups, times)


@dataclass(frozen=True)
class ShardedLists:
    """References to the shards in order, with the sizes and group names of each."""

    shards: list[ray.ObjectRef]
    sizes: list[tuple[int, int]]  # lists and interactions
    group_names: list[Sequence[str | None]]

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where the lists of each shard end, shape (shards,)."""
        return np.cumsum([lists for lists, _ in self.sizes], dtype=np.int64)


def shards_from_lists(pieces: Sequence[PieceInfo], tables: list[ray.ObjectRef]) -> ShardedLists:
    """Use pieces that contain whole lists as the shards."""
    shards = [task(_indexed_lists, piece.path, tables) for piece in pieces]
    sizes = [(piece.lists, piece.interactions) for piece in pieces]
    return ShardedLists(shards, sizes, [piece.group_names for piece in pieces])


def _indexed_lists(path: str, tables: list[ray.ObjectRef]) -> Shard:
    shard = load_shard(f"{path}.npz")
    return replace(shard, lists=Lists(global_indices(path, tables)[shard.lists.items], shard.lists.offsets))


def drop_repeats(raw: ShardedLists) -> ShardedLists:
    """Return the lists without items that occur earlier in the same list."""
    done = [task_of_parts(2, _drop_repeats, shard) for shard in raw.shards]
    return replace(raw, shards=[shard for shard, _ in done], sizes=ray.get([size for _, size in done]))


def _drop_repeats(shard: Shard) -> tuple[Shard, tuple[int, int]]:
    lists = shard.lists.drop_repeats()
    return replace(shard, lists=lists), (len(lists), len(lists.items))


def load_shard(path: str) -> Shard:
    arrays = dict(np.load(path, allow_pickle=False))
    return Shard(Lists(arrays["items"], arrays["offsets"]), arrays.get("groups"), arrays.get("times"))
