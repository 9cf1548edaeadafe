"""Whole lists out of the pieces: as they were read, or brought together from rows by Ray Data's shuffle."""

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

from fansrec.cluster.preparing.numbering import global_numbers
from fansrec.cluster.preparing.reading import Facts, save_arrays
from fansrec.cluster.preparing.tasks import cores, task
from fansrec.data.encoding import number_groups, refuse_mixed_groups, refuse_repeated_positions
from fansrec.data.lists import Lists
from fansrec.files import write_json

ROWS_TOGETHER = 5_000_000  # about so many are brought together by one task


@dataclass(frozen=True)
class Shard:
    """Some lists in the order of the whole, and the groups they are split by, as the shard itself numbers them."""

    lists: Lists
    groups: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Gathered:
    """Shards in order, each an object of Ray, and what the driver knows of each."""

    shards: list[ray.ObjectRef]
    sizes: list[tuple[int, int]]  # lists and interactions
    group_names: list[Sequence[str | None]]

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where the lists of each shard end."""
        return np.cumsum([lists for lists, _ in self.sizes], dtype=np.int64)


def as_read(facts: Sequence[Facts], ids: list[ray.ObjectRef]) -> Gathered:
    """Pieces that hold whole lists are the shards."""
    shards = [task(_numbered_lists, piece.path, ids) for piece in facts]
    sizes = [(piece.lists, piece.interactions) for piece in facts]
    return Gathered(shards, sizes, [piece.group_names for piece in facts])


def _numbered_lists(path: str, ids: list[ray.ObjectRef]) -> Shard:
    shard = _loaded(f"{path}.npz")
    return replace(shard, lists=Lists(global_numbers(path, ids)[shard.lists.items], shard.lists.offsets))


def brought_together(facts: Sequence[Facts], ids: list[ray.ObjectRef], work: Path, where: str) -> Gathered:
    """Lists from rows: those of one list meet in one task, then lists are sorted by the place of their first row."""
    path = work / ("lists-" + hashlib.sha256("".join(piece.path for piece in facts).encode()).hexdigest()[:32])
    if not path.with_suffix(".json").exists():
        _shuffle(facts, ids, path, where)
    told = json.loads(path.with_suffix(".json").read_text())
    shards = [task(_loaded, f"{path}-{number}.npz") for number in range(len(told["sizes"]))]
    return Gathered(shards, [tuple(size) for size in told["sizes"]], told["group_names"])


def _shuffle(facts: Sequence[Facts], ids: list[ray.ObjectRef], path: Path, where: str) -> None:
    rows = sum(piece.interactions for piece in facts)
    blocks = max(cores(), -(-rows // ROWS_TOGETHER))
    buckets = 4 * blocks  # whose order is that of a hash, so that blocks of some buckets are of about one size

    def rows_of(batch: dict[str, Any]) -> Iterator[pa.Table]:
        for number in batch["piece"]:
            yield _bucketed(facts[number], int(number), ids, buckets)

    def lists_of(table: pa.Table) -> pa.Table:
        return _lists(table, where)

    with _shuffled_by_tasks():
        numbered = ray.data.from_items([{"piece": n} for n in range(len(facts))], override_num_blocks=len(facts))
        table = numbered.map_batches(rows_of, batch_size=1)
        lists = table.groupby("bucket", num_partitions=blocks).map_groups(lists_of, batch_format="pyarrow")
        found = lists.sort("first").to_arrow_refs()
    kept = ray.get([task(_kept, f"{path}-{number}.npz", block) for number, block in enumerate(found)])
    write_json(path.with_suffix(".json"), {"sizes": [one[0] for one in kept], "group_names": [one[1] for one in kept]})


@contextmanager
def _shuffled_by_tasks() -> Iterator[None]:
    """Ray's other way of shuffling begins with actors of its own, for every shuffle anew."""
    context = ray.data.DataContext.get_current()
    before = context.shuffle_strategy
    context.shuffle_strategy = ShuffleStrategy.SORT_SHUFFLE_PULL_BASED
    try:
        yield
    finally:
        context.shuffle_strategy = before


def _bucketed(piece: Facts, number: int, ids: list[ray.ObjectRef], buckets: int) -> pa.Table:
    """The rows of a piece with items as all pieces number them, their places in the whole, and buckets of lists."""
    rows = pl.read_parquet(f"{piece.path}.rows")
    items = global_numbers(piece.path, ids)[rows["number"].to_numpy()]
    keys = rows.select(pl.col("list").unique())
    own = [zlib.crc32(key.encode()) % buckets for key in keys["list"]]
    keys = keys.with_columns(bucket=pl.Series(own, dtype=pl.Int64))
    rows = rows.join(keys, on="list", how="left", maintain_order="left")
    order = (np.int64(number) << np.int64(40)) + rows["row"].to_numpy()
    return rows.drop("number", "row").with_columns(item=pl.Series(items), order=pl.Series(order)).to_arrow()


def _lists(table: pa.Table, where: str) -> pa.Table:
    """The lists of one bucket: the place of the first row, the items in their order, and perhaps the group."""
    rows = pl.from_arrow(table)
    assert isinstance(rows, pl.DataFrame)
    rows = rows.sort("order")
    first = rows.group_by("list", maintain_order=True).agg(pl.col("order").first().alias("first"), *_group(rows))
    if "group" in rows.columns:
        refuse_mixed_groups(first, where)
    numbers = first.select("list").with_row_index("list_number")
    rows = rows.join(numbers, on="list", how="left", maintain_order="left")
    if "position" in rows.columns:
        rows = rows.sort("list_number", "position", maintain_order=True)
        refuse_repeated_positions(rows, first["list"], where)
    items = rows.group_by("list", maintain_order=True).agg(pl.col("item").alias("items"))
    return (
        first.join(items, on="list", how="left", maintain_order="left").drop("list", "other", strict=False).to_arrow()
    )


def _group(rows: pl.DataFrame) -> list[pl.Expr]:
    if "group" not in rows.columns:
        return []
    return [pl.col("group").min(), pl.col("group").max().alias("other")]


def _kept(path: str, table: pa.Table) -> tuple[tuple[int, int], list[str | None]]:
    lists = pl.from_arrow(table)
    assert isinstance(lists, pl.DataFrame)
    if "items" not in lists.columns:  # a block without rows has no columns either
        lists = pl.DataFrame(schema={"items": pl.List(pl.Int32)})
    lengths = lists["items"].list.len().to_numpy().astype(np.int64)
    items = lists["items"].explode().drop_nulls().to_numpy().astype(np.int32)
    arrays = {"items": items, "offsets": np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])}
    names: list[str | None] = []
    if "group" in lists.columns:
        arrays["groups"], names = number_groups(lists["group"])
    save_arrays(Path(path), arrays)
    return (lists.height, len(items)), names


def _loaded(path: str) -> Shard:
    arrays = dict(np.load(path, allow_pickle=False))
    return Shard(Lists(arrays["items"], arrays["offsets"]), arrays.get("groups"))
