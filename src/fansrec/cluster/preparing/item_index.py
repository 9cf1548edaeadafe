"""Item indices over all pieces, the same as on one machine: in the order of the ids, or of first occurrence."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.reading import PieceInfo

MAX_TABLE_IDS = 4_000_000  # in one object of the table of all ids


def build_item_index(pieces: Sequence[PieceInfo]) -> tuple[pl.Series, list[ray.ObjectRef]]:
    """Return the id of every item index, and lookup tables for `global_indices`: ids with their indices."""
    of_pieces = [
        pl.scan_parquet(f"{piece.path}.ids", glob=False)
        .with_row_index("position")
        .select("id", order=pl.col("position").cast(pl.Int64) + (number << 40))
        for number, piece in enumerate(pieces)
    ]
    merged = pl.concat(of_pieces).group_by("id").agg(pl.col("order").min())
    ordered = merged.sort("id" if pieces[0].sorted_ids else "order").select("id")
    table = ordered.collect(engine="streaming").with_row_index("index")
    starts = range(0, table.height, MAX_TABLE_IDS)
    return table["id"], [ray.put(table[start : start + MAX_TABLE_IDS].to_arrow()) for start in starts]


def global_indices(path: str, tables: Sequence[ray.ObjectRef]) -> NDArray[np.int32]:
    """Return the item index of each of a piece's own ids."""
    ids = pl.read_parquet(f"{path}.ids").with_row_index("position")
    found = [ids.join(to_polars(ray.get(table)), on="id").select("position", "index") for table in tables]
    return pl.concat(found).sort("position")["index"].to_numpy().astype(np.int32)


def to_polars(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
