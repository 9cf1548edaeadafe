"""Item indices over all pieces, the same as on one machine: in the order of the ids, or of first occurrence."""

import zlib
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.reading import PieceInfo
from fansrec.cluster.preparing.tasks import cores, task, task_of_parts

MAX_TABLE_IDS = 4_000_000  # in one object of the table of all ids


def build_item_index(pieces: Sequence[PieceInfo]) -> tuple[pl.DataFrame, list[ray.ObjectRef]]:
    """Return the id of every item index and whether it is an integer, and lookup tables for `global_indices`.

    The lookup tables are the ids in order with their indices.
    """
    buckets = min(cores(), len(pieces))
    split = [task_of_parts(buckets, _split_ids, piece.path, number, buckets) for number, piece in enumerate(pieces)]
    merged = [task(_merge_ids, *bucket) for bucket in zip(*split, strict=True)]
    order = "id" if pieces[0].sorted_ids else ["piece", "position"]
    ids = pl.concat([to_polars(part) for part in ray.get(merged)]).sort(order)
    by_id = ids.select("id").with_row_index("index").sort("id")
    starts = range(0, by_id.height, MAX_TABLE_IDS)
    return ids.select("id", "integer"), [ray.put(by_id[start : start + MAX_TABLE_IDS].to_arrow()) for start in starts]


def _split_ids(path: str, piece: int, buckets: int) -> tuple[pa.Table, ...]:
    """Split the ids of a piece into buckets by a hash."""
    ids = pl.read_parquet(f"{path}.ids").with_row_index("position").with_columns(piece=pl.lit(piece, pl.Int32))
    # Of the bytes of an id, since a hash of polars may differ from machine to machine.
    hashes = np.fromiter((zlib.crc32(id_.encode()) % buckets for id_ in ids["id"]), dtype=np.int64, count=ids.height)
    return tuple(ids.filter(hashes == bucket).to_arrow() for bucket in range(buckets))


def _merge_ids(*parts: pa.Table) -> pa.Table:
    """Return every id once, with the position of its first occurrence: the parts are in the order of the pieces.

    An id is an integer if it is one in all of them.
    """
    ids = pl.concat([to_polars(part) for part in parts])
    return (
        ids.group_by("id", maintain_order=True).agg(pl.exclude("integer").first(), pl.col("integer").all()).to_arrow()
    )


def global_indices(path: str, tables: Sequence[ray.ObjectRef]) -> NDArray[np.int32]:
    """Return the item index of each of a piece's own ids."""
    ids = pl.read_parquet(f"{path}.ids").with_row_index("position").sort("id")
    indices = np.zeros(ids.height, dtype=np.int32)
    for own, table in _join_tables(ids, tables):
        found = table["id"].search_sorted(own["id"])
        indices[own["position"].to_numpy()] = table["index"].gather(found).to_numpy()
    return indices


def _join_tables(ids: pl.DataFrame, tables: Sequence[ray.ObjectRef]) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield each table that contains some of the sorted ids, after those ids."""
    first = 0
    for reference in tables:
        table = to_polars(ray.get(reference))
        end = int(ids["id"].search_sorted(table["id"][-1], side="right"))
        if end > first:
            yield ids[first:end], table
        first = end


def to_polars(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
