"""One number for every item of all pieces, the same as on one machine: by id, or by first sight."""

import zlib
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.reading import Facts
from fansrec.cluster.preparing.tasks import cores, task, task_of_parts

IDS_AT_ONCE = 4_000_000  # of the table of all ids, in one object


def number_ids(facts: Sequence[Facts]) -> tuple[pl.Series, list[ray.ObjectRef]]:
    """The id of every item number, and where pieces look up theirs: tables of ids in order, one after the other."""
    ways = min(cores(), len(facts))
    scattered = [task_of_parts(ways, _scattered, piece.path, n, ways) for n, piece in enumerate(facts)]
    merged = [task(_merged, *of_way) for of_way in zip(*scattered, strict=True)]
    ids = pl.concat([_table(part) for part in ray.get(merged)]).sort("id" if facts[0].ids_rise else ["piece", "place"])
    by_id = ids.select("id").with_row_index("number").sort("id")
    tables = [ray.put(by_id[first : first + IDS_AT_ONCE].to_arrow()) for first in range(0, by_id.height, IDS_AT_ONCE)]
    return ids["id"], tables


def _scattered(path: str, piece: int, ways: int) -> tuple[pa.Table, ...]:
    """The ids of a piece, dealt to so many tasks; each id always to the same one."""
    ids = pl.read_parquet(f"{path}.ids").with_row_index("place").with_columns(piece=pl.lit(piece, pl.Int32))
    # Of the bytes of an id, since a hash of polars may differ from machine to machine.
    own = np.fromiter((zlib.crc32(id_.encode()) % ways for id_ in ids["id"]), dtype=np.int64, count=ids.height)
    return tuple(ids.filter(own == way).to_arrow() for way in range(ways))


def _merged(*parts: pa.Table) -> pa.Table:
    """Every id once, with the place where it was first seen: the parts come in the order of the pieces."""
    return pl.concat([_table(part) for part in parts]).unique("id", keep="first", maintain_order=True).to_arrow()


def global_numbers(path: str, tables: Sequence[ray.ObjectRef]) -> NDArray[np.int32]:
    """The number of each of a piece's own ids."""
    ids = pl.read_parquet(f"{path}.ids").with_row_index("place").sort("id")
    numbers = np.zeros(ids.height, dtype=np.int32)
    for own, table in _beside(ids, tables):
        found = table["id"].search_sorted(own["id"])
        numbers[own["place"].to_numpy()] = table["number"].gather(found).to_numpy()
    return numbers


def _beside(ids: pl.DataFrame, tables: Sequence[ray.ObjectRef]) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """The ids that stand in each of the tables, and the table."""
    first = 0
    for reference in tables:
        table = _table(ray.get(reference))
        end = int(ids["id"].search_sorted(table["id"][-1], side="right"))
        if end > first:
            yield ids[first:end], table
        first = end


def _table(table: pa.Table) -> pl.DataFrame:
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    return found
