"""Rows grouped into lists: all rows of a list go to one task, and its lists to tasks by the order of the source.

Two rounds of tasks exchange arrays. Where the lists of a shard begin and end in the source follows from the numbers of
rows alone, so nothing is sampled, as a general sort of rows would have to.
"""

import hashlib
import itertools
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.item_index import global_indices, to_polars
from fansrec.cluster.preparing.reading import PieceInfo, save_arrays
from fansrec.cluster.preparing.shuffle import ShardedLists, load_shard
from fansrec.cluster.preparing.tasks import cores, task, task_of_parts
from fansrec.data.indexing import index_groups, refuse_mixed_groups
from fansrec.data.lists import offsets_of
from fansrec.files import write_json
from fansrec.models.ranges import ranges

ROWS_PER_TASK = 5_000_000  # approximately
ROW_BITS = 40  # of the place of a row in the source: the number of its piece, then its row in the piece

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Rows of some lists of a piece, in the order of the source."""

    keys: pa.Table  # `list`, one row for every list
    lists: NDArray[np.int32]  # (n,): which of these lists
    items: NDArray[np.int32]  # (n,)
    places: Indices  # (n,)
    others: pa.Table  # position, time, group, where they are used


@dataclass(frozen=True)
class Grouped:
    """Whole lists in the order of the source."""

    firsts: Indices  # (lists,): the place of the first row of each
    lengths: Indices  # (lists,)
    items: NDArray[np.int32]
    others: pa.Table  # group and time of each list, where they are used


def shards_from_rows(
    pieces: Sequence[PieceInfo], tables: list[ray.ObjectRef], work: Path, where: str, list_time: str | None
) -> ShardedLists:
    """Group rows into lists: all rows of a list go to the same task, then lists are sorted by their first row."""
    path = work / ("lists-" + hashlib.sha256("".join(piece.path for piece in pieces).encode()).hexdigest()[:32])
    if not path.with_suffix(".json").exists():
        _shuffle(pieces, tables, path, where, list_time)
    info = json.loads(path.with_suffix(".json").read_text())
    shards = [task(load_shard, f"{path}-{number}.npz") for number in range(len(info["sizes"]))]
    return ShardedLists(shards, [tuple(size) for size in info["sizes"]], info["group_names"])


def _shuffle(
    pieces: Sequence[PieceInfo], tables: list[ray.ObjectRef], path: Path, where: str, list_time: str | None
) -> None:
    rows = np.array([piece.interactions for piece in pieces])
    blocks = max(cores(), -(-int(rows.sum()) // ROWS_PER_TASK))
    bounds = _bounds(rows, blocks)
    scattered = [task_of_parts(blocks, scatter, piece.path, n, tables, blocks) for n, piece in enumerate(pieces)]
    grouped = [task_of_parts(blocks, group, where, list_time, bounds, *parts) for parts in zip(*scattered, strict=True)]
    del scattered  # Ray frees objects without references
    saved = [task(_save_shard, f"{path}-{i}.npz", *parts) for i, parts in enumerate(zip(*grouped, strict=True))]
    del grouped
    results = ray.get(saved)
    info = {"sizes": [sizes for sizes, _ in results], "group_names": [names for _, names in results]}
    write_json(path.with_suffix(".json"), info)


def _bounds(rows: Indices, blocks: int) -> Indices:
    """Return the places at which all blocks but the first begin, (blocks - 1,): each has about as many rows."""
    ends = np.cumsum(rows)
    at = np.arange(1, blocks) * int(ends[-1]) // blocks
    piece = np.searchsorted(ends, at, side="right")
    return (piece << ROW_BITS) + at - (ends - rows)[piece]


def scatter(path: str, number: int, tables: list[ray.ObjectRef], blocks: int) -> tuple[Rows, ...]:
    """Divide the rows of a piece by a hash of their lists."""
    table = pl.read_parquet(f"{path}.rows")
    items, lists = global_indices(path, tables)[table["index"].to_numpy()], table["list"].to_numpy()
    places = (np.int64(number) << ROW_BITS) + table["row"].to_numpy()
    keys = pl.read_parquet(f"{path}.lists")
    # Of the bytes of an id, since a hash of polars may differ from machine to machine.
    hashes = np.fromiter((zlib.crc32(key.encode()) % blocks for key in keys["list"]), dtype=np.int64, count=keys.height)
    others = table.drop("index", "list", "row")
    renumbered = np.empty(keys.height, dtype=np.int32)
    parts = []
    for block in range(blocks):
        own_keys = hashes == block
        renumbered[own_keys] = np.arange(np.count_nonzero(own_keys))
        own = np.flatnonzero(own_keys[lists])
        rows = others[own] if others.width else others
        parts.append(
            Rows(keys.filter(own_keys).to_arrow(), renumbered[lists[own]], items[own], places[own], rows.to_arrow())
        )
    return tuple(parts)


def group(where: str, list_time: str | None, bounds: Indices, *parts: Rows) -> tuple[Grouped, ...]:
    """Return the lists of a block, divided by the places of their first rows; the parts are in the order of pieces."""
    names, lists = _distinct_lists(parts)
    items, places = (np.concatenate([getattr(part, name) for part in parts]) for name in ("items", "places"))
    firsts = np.empty(len(names), dtype=np.int64)
    firsts[lists[::-1]] = places[::-1]  # the first row is written last
    order = np.argsort(firsts)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    lists, firsts = rank[lists], firsts[order]
    rows = pl.concat([to_polars(part.others) for part in parts], how="vertical")
    if "position" in rows.columns:
        keys = pl.DataFrame({"list": lists, "position": rows["position"]}).with_row_index("at")
        sorted_rows = keys.sort("list", "position", maintain_order=True)["at"].to_numpy()
    else:
        sorted_rows = np.argsort(lists, kind="stable")
    ends = np.cumsum(np.bincount(lists, minlength=len(names)))
    details = _details(rows, lists, names[order], where, list_time)
    return _cut(Grouped(firsts, np.diff(ends, prepend=0), items[sorted_rows], details.to_arrow()), ends, bounds)


def _distinct_lists(parts: Sequence[Rows]) -> tuple[pl.Series, Indices]:
    """Return the ids of all lists, and which of them each row of the parts belongs to."""
    keys = pl.concat([to_polars(part.keys) for part in parts])
    distinct = keys.unique(maintain_order=True).with_row_index("number")
    numbers = keys.join(distinct, on="list", how="left", maintain_order="left")["number"].to_numpy().astype(np.int64)
    starts = np.cumsum([0, *(part.keys.num_rows for part in parts)])
    return distinct["list"], np.concatenate(
        [numbers[part.lists + start] for part, start in zip(parts, starts[:-1], strict=True)]
    )


def _details(rows: pl.DataFrame, lists: Indices, names: pl.Series, where: str, list_time: str | None) -> pl.DataFrame:
    """Return the columns group and time of every list, as far as the rows have them."""
    columns = [pl.col("group").min(), pl.col("group").max().alias("other")] if "group" in rows.columns else []
    if list_time:
        columns.append(pl.col("time").max() if list_time == "latest" else pl.col("time").min())
    if not columns:
        return pl.DataFrame()
    found = rows.with_columns(number=pl.Series(lists)).group_by("number").agg(*columns).sort("number").drop("number")
    if "group" in found.columns:
        refuse_mixed_groups(found.with_columns(list=names), where)
    return found.drop("other", strict=False)


def _cut(grouped: Grouped, ends: Indices, bounds: Indices) -> tuple[Grouped, ...]:
    cuts = [0, *np.searchsorted(grouped.firsts, bounds).tolist(), len(ends)]
    item_ends = np.concatenate([[0], ends])
    parts = []
    for first, last in itertools.pairwise(cuts):
        some, items = slice(first, last), slice(item_ends[first], item_ends[last])
        others = grouped.others.slice(first, last - first) if grouped.others.num_columns else grouped.others
        parts.append(Grouped(grouped.firsts[some], grouped.lengths[some], grouped.items[items], others))
    return tuple(parts)


def _save_shard(path: str, *parts: Grouped) -> tuple[tuple[int, int], list[str | None]]:
    """Save the lists of a block; return the numbers of lists and interactions, and the group names."""
    firsts, lengths, items = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("firsts", "lengths", "items")
    )
    order = np.argsort(firsts)
    starts = np.cumsum(lengths) - lengths
    arrays = {"items": items[ranges(starts[order], lengths[order])], "offsets": offsets_of(lengths[order])}
    details, names = pl.concat([to_polars(part.others) for part in parts]), list[str | None]()
    if "group" in details.columns:
        arrays["groups"], names = index_groups(details["group"][order])
    if "time" in details.columns:
        arrays["times"] = details["time"].to_numpy()[order]
    save_arrays(Path(path), arrays)
    return (len(order), len(items)), names
