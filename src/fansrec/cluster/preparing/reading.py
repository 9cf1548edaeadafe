"""Reading the pieces with Ray Data; their lists, or rows to be grouped into lists, are kept in a work folder."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import ray.data

from fansrec.cluster.preparing.pieces import Piece, local_copy
from fansrec.data.columns import Columns
from fansrec.data.decompression import PlainFile
from fansrec.data.indexing import missing_value
from fansrec.data.lists import Lists, RawLists, offsets_of
from fansrec.data.sources import long_rows, read_json_lists, read_table
from fansrec.data.tables import format_of, readable, scan
from fansrec.errors import BadInput
from fansrec.files import write_atomically, write_json

NO_LISTS = RawLists(Lists(np.zeros(0, dtype=np.int32), offsets_of(np.zeros(0, dtype=np.int64))), [])


@dataclass(frozen=True)
class PieceInfo:
    """The kept content of a piece: whole lists, or rows with these columns."""

    path: str  # without the extensions .npz or .rows, .ids and .json
    lists: int
    interactions: int
    sorted_ids: bool
    columns: tuple[str, ...] = ()  # of rows
    group_names: tuple[str | None, ...] = ()  # of whole lists
    has_split_key: bool = True  # whether a list has the key to split by, if one is given
    kept: bool = False  # from an earlier run


def read_pieces(pieces: Sequence[Piece], work: Path, columns: Columns, split_by: str | None) -> list[PieceInfo]:
    """Read the pieces that an earlier run has not read; raise the first error after all have been read."""

    def read(row: dict[str, Any]) -> dict[str, str]:
        try:
            info = _read_piece(pieces[row["piece"]], work, columns, split_by)
            return {"info": json.dumps(asdict(info)), "error": ""}
        except BadInput as error:
            return {"info": "", "error": error.on_command_line}

    indices = ray.data.from_items([{"piece": number} for number in range(len(pieces))], override_num_blocks=len(pieces))
    rows = indices.map(read).take_all()
    if errors := [row["error"] for row in rows if row["error"]]:
        more = f" (and {len(errors) - 1:,} other shards cannot be read)" if len(errors) > 1 else ""
        raise BadInput(errors[0] + more)
    return [_parse_info(row["info"]) for row in rows]


def _parse_info(text: str, **changes: Any) -> PieceInfo:
    values: dict[str, Any] = json.loads(text) | changes
    return PieceInfo(**values | {name: tuple(values[name]) for name in ("columns", "group_names")})


def _read_piece(piece: Piece, work: Path, columns: Columns, split_by: str | None) -> PieceInfo:
    path = work / f"piece-{piece.key(columns, split_by)}"
    if path.with_suffix(".json").exists():
        return _parse_info(path.with_suffix(".json").read_text(), kept=True)
    with local_copy(piece) as file:
        content, has_split_key = (NO_LISTS, False) if file is None else _read(file, piece, columns, split_by)
    info = _keep_lists(content, path) if isinstance(content, RawLists) else _keep_rows(content, path, piece.where)
    info = replace(info, has_split_key=has_split_key)
    write_json(path.with_suffix(".json"), asdict(info))  # last: it marks the piece as complete
    return info


def _read(
    file: PlainFile, piece: Piece, columns: Columns, split_by: str | None
) -> tuple[RawLists | pl.LazyFrame, bool]:
    """Return lists or rows, and whether the key to split by occurs: a table without that column is refused."""
    kind, where = format_of(file, piece.where), piece.where
    if kind == "jsonl":
        return read_json_lists(file.path, where, columns, split_by)
    with readable(where):
        table = scan(file, kind, where)
        if kind == "parquet" and piece.end is not None:
            table = table.slice(piece.first, piece.end - piece.first)
        rows = long_rows(table, where, columns, split_by)
        if rows is None:
            return read_table(table, where, columns, split_by), True
        return rows.collect(engine="streaming").lazy(), True


def _keep_lists(raw: RawLists, path: Path) -> PieceInfo:
    arrays = {"items": raw.lists.items, "offsets": raw.lists.offsets}
    if raw.groups is not None:
        arrays["groups"] = raw.groups
    save_arrays(path.with_suffix(".npz"), arrays)
    _save_table(path.with_suffix(".ids"), pl.DataFrame({"id": raw.ids}, schema={"id": pl.String}))
    return PieceInfo(str(path), len(raw.lists), len(raw.lists.items), raw.sorted_ids, (), tuple(raw.group_names))


def _keep_rows(table: pl.LazyFrame, path: Path, where: str) -> PieceInfo:
    """Keep the rows, with items as indices of the piece's own ids and columns of the same types in all pieces."""
    with readable(where):
        rows = table.collect()
        for column in ("item", "list", "position"):
            if column in rows.columns and rows[column].null_count():
                raise missing_value(table, column, where)
        texts = [pl.col(name).cast(pl.String) for name in ("list", "item", "group") if name in rows.columns]
        integers = [
            pl.col(name).cast(pl.Int64) for name in ("position",) if rows.schema.get(name, pl.String).is_integer()
        ]
        rows = rows.with_columns(*texts, *integers, pl.col("row").cast(pl.Int64))
    ids = rows.select(pl.col("item").unique().sort()).with_row_index("index")
    indexed = rows.join(ids, on="item", how="left", maintain_order="left").drop("item")
    _save_table(path.with_suffix(".rows"), indexed)
    _save_table(path.with_suffix(".ids"), ids.select(pl.col("item").alias("id")))
    return PieceInfo(str(path), 0, rows.height, True, tuple(indexed.columns))


def save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez(file, **arrays)

    write_atomically(path, write)


def _save_table(path: Path, table: pl.DataFrame) -> None:
    write_atomically(path, lambda temporary: table.write_parquet(temporary, compression="lz4"))
