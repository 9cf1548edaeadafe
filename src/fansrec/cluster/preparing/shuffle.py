"""Shards of whole lists: the pieces themselves, or rows grouped by list with Ray Data's shuffle."""

import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import ray
import ray.data
from numpy.typing import NDArray
from ray.data.context import ShuffleStrategy

from fansrec.cluster.preparing.item_index import global_indices, to_polars
from fansrec.cluster.preparing.reading import PieceInfo, save_arrays
from fansrec.cluster.preparing.tasks import cores, task, task_of_parts
from fansrec.data.indexing import index_groups, refuse_mixed_groups
from fansrec.data.lists import Lists, offsets_of
from fansrec.files import write_json

ROWS_PER_TASK = 5_000_000  # approximately


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
    shard = _load_shard(f"{path}.npz")
    return replace(shard, lists=Lists(global_indices(path, tables)[shard.lists.items], shard.lists.offsets))


def shards_from_rows(
    pieces: Sequence[PieceInfo], tables: list[ray.ObjectRef], work: Path, where: str, list_time: str | None
) -> ShardedLists:
    """Group rows into lists: all rows of a list go to the same task, then lists are sorted by their first row."""
    path = work / ("lists-" + hashlib.sha256("".join(piece.path for piece in pieces).encode()).hexdigest()[:32])
    if not path.with_suffix(".json").exists():
        _shuffle(pieces, tables, path, where, list_time)
    info = json.loads(path.with_suffix(".json").read_text())
    shards = [task(_load_shard, f"{path}-{number}.npz") for number in range(len(info["sizes"]))]
    return ShardedLists(shards, [tuple(size) for size in info["sizes"]], info["group_names"])


def _shuffle(
    pieces: Sequence[PieceInfo], tables: list[ray.ObjectRef], path: Path, where: str, list_time: str | None
) -> None:
    rows = sum(piece.interactions for piece in pieces)
    blocks = max(cores(), -(-rows // ROWS_PER_TASK))
    buckets = 4 * blocks  # of list ids by hash, so that blocks of several buckets have similar sizes

    def rows_of(batch: dict[str, Any]) -> Iterator[pa.Table]:
        for number in batch["piece"]:
            yield _bucketed(pieces[number], int(number), tables, buckets)

    def lists_of(table: pa.Table) -> pa.Table:
        return _group_rows(table, where, list_time)

    with _task_based_shuffle():
        indices = ray.data.from_items([{"piece": n} for n in range(len(pieces))], override_num_blocks=len(pieces))
        table = indices.map_batches(rows_of, batch_size=1)
        lists = table.groupby("bucket", num_partitions=blocks).map_groups(lists_of, batch_format="pyarrow")
        blocks_of_lists = lists.sort("first").to_arrow_refs()
    saved = ray.get([task(_save_shard, f"{path}-{i}.npz", block) for i, block in enumerate(blocks_of_lists)])
    info = {"sizes": [sizes for sizes, _ in saved], "group_names": [names for _, names in saved]}
    write_json(path.with_suffix(".json"), info)


def drop_repeats(raw: ShardedLists) -> ShardedLists:
    """Return the lists without items that occur earlier in the same list."""
    done = [task_of_parts(2, _drop_repeats, shard) for shard in raw.shards]
    return replace(raw, shards=[shard for shard, _ in done], sizes=ray.get([size for _, size in done]))


def _drop_repeats(shard: Shard) -> tuple[Shard, tuple[int, int]]:
    lists = shard.lists.drop_repeats()
    return replace(shard, lists=lists), (len(lists), len(lists.items))


@contextmanager
def _task_based_shuffle() -> Iterator[None]:
    """Shuffle with tasks: Ray's default strategy starts new actors for every shuffle."""
    context = ray.data.DataContext.get_current()
    before = context.shuffle_strategy
    context.shuffle_strategy = ShuffleStrategy.SORT_SHUFFLE_PULL_BASED
    try:
        yield
    finally:
        context.shuffle_strategy = before


def _bucketed(piece: PieceInfo, number: int, tables: list[ray.ObjectRef], buckets: int) -> pa.Table:
    """Return the rows of a piece with global item indices, their order in the source and their buckets."""
    rows = pl.read_parquet(f"{piece.path}.rows")
    items = global_indices(piece.path, tables)[rows["index"].to_numpy()]
    keys = rows.select(pl.col("list").unique())
    hashes = [zlib.crc32(key.encode()) % buckets for key in keys["list"]]
    keys = keys.with_columns(bucket=pl.Series(hashes, dtype=pl.Int64))
    rows = rows.join(keys, on="list", how="left", maintain_order="left")
    order = (np.int64(number) << np.int64(40)) + rows["row"].to_numpy()
    return rows.drop("index", "row").with_columns(item=pl.Series(items), order=pl.Series(order)).to_arrow()


def _group_rows(table: pa.Table, where: str, list_time: str | None) -> pa.Table:
    """Return the lists of a bucket: the order of the first row, the items in order, and group and time if there are."""
    rows = to_polars(table).sort("order")
    has_group = "group" in rows.columns
    group = [pl.col("group").min(), pl.col("group").max().alias("other")] if has_group else []
    time = [pl.col("time").max() if list_time == "latest" else pl.col("time").min()] if list_time else []
    first = rows.group_by("list", maintain_order=True).agg(pl.col("order").first().alias("first"), *group, *time)
    if has_group:
        refuse_mixed_groups(first, where)
    indices = first.select("list").with_row_index("list_index")
    rows = rows.join(indices, on="list", how="left", maintain_order="left")
    if "position" in rows.columns:
        rows = rows.sort("list_index", "position", maintain_order=True)
    items = rows.group_by("list", maintain_order=True).agg(pl.col("item").alias("items"))
    return (
        first.join(items, on="list", how="left", maintain_order="left").drop("list", "other", strict=False).to_arrow()
    )


def _save_shard(path: str, table: pa.Table) -> tuple[tuple[int, int], list[str | None]]:
    """Save the lists of a block; return the numbers of lists and interactions, and the group names."""
    lists = to_polars(table)
    if "items" not in lists.columns:  # a block without rows has no columns
        lists = pl.DataFrame(schema={"items": pl.List(pl.Int32)})
    lengths = lists["items"].list.len().to_numpy().astype(np.int64)
    items = lists["items"].explode().drop_nulls().to_numpy().astype(np.int32)
    arrays = {"items": items, "offsets": offsets_of(lengths)}
    names: list[str | None] = []
    if "group" in lists.columns:
        arrays["groups"], names = index_groups(lists["group"])
    if "time" in lists.columns:
        arrays["times"] = lists["time"].to_numpy()
    save_arrays(Path(path), arrays)
    return (lists.height, len(items)), names


def _load_shard(path: str) -> Shard:
    arrays = dict(np.load(path, allow_pickle=False))
    return Shard(Lists(arrays["items"], arrays["offsets"]), arrays.get("groups"), arrays.get("times"))
