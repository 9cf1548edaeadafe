"""Pieces read by Ray Data, each kept beside the corpus to be: lists, or rows that have yet to be brought together."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import ray.data

from fansrec.cluster.preparing.pieces import Piece, fetched
from fansrec.data.columns import Columns
from fansrec.data.encoding import missing_value
from fansrec.data.lists import Lists, RawLists, offsets_of
from fansrec.data.sources import long_rows, read_json_lists, read_table
from fansrec.data.tables import format_of, readable, scan
from fansrec.data.unpacking import Unpacked
from fansrec.errors import BadInput
from fansrec.files import write_atomically, write_json

NO_LISTS = RawLists(Lists(np.zeros(0, dtype=np.int32), offsets_of(np.zeros(0, dtype=np.int64))), [])


@dataclass(frozen=True)
class Facts:
    """What is kept of a piece: whole lists, or rows with these columns."""

    path: str  # without the endings .npz or .rows, .ids and .json
    lists: int
    interactions: int
    ids_rise: bool
    columns: tuple[str, ...] = ()  # of rows
    group_names: tuple[str | None, ...] = ()  # of whole lists
    split_seen: bool = True  # whether a list has the key to split by, where one is asked for
    kept: bool = False  # from an earlier run


def read_pieces(pieces: Sequence[Piece], work: Path, columns: Columns, split_by: str | None) -> list[Facts]:
    """Read what is not kept from an earlier run. What can be read is read, then the first refusal is raised."""

    def read(row: dict[str, Any]) -> dict[str, str]:
        try:
            return {"facts": json.dumps(asdict(_kept_or_read(pieces[row["piece"]], work, columns, split_by))), "no": ""}
        except BadInput as error:
            return {"facts": "", "no": str(error)}

    numbered = ray.data.from_items(
        [{"piece": number} for number in range(len(pieces))], override_num_blocks=len(pieces)
    )
    rows = numbered.map(read).take_all()
    if refused := [row["no"] for row in rows if row["no"]]:
        more = f" (and {len(refused) - 1:,} other shards are refused)" if len(refused) > 1 else ""
        raise BadInput(refused[0] + more)
    return [_facts(row["facts"]) for row in rows]


def _facts(text: str, **changed: Any) -> Facts:
    told: dict[str, Any] = json.loads(text) | changed
    return Facts(**told | {name: tuple(told[name]) for name in ("columns", "group_names")})


def _kept_or_read(piece: Piece, work: Path, columns: Columns, split_by: str | None) -> Facts:
    path = work / f"piece-{piece.key(columns, split_by)}"
    if path.with_suffix(".json").exists():
        return _facts(path.with_suffix(".json").read_text(), kept=True)
    with fetched(piece) as file:
        found, split_seen = (NO_LISTS, False) if file is None else _read(file, piece, columns, split_by)
    facts = _keep_lists(found, path) if isinstance(found, RawLists) else _keep_rows(found, path, piece.where)
    facts = replace(facts, split_seen=split_seen)
    write_json(path.with_suffix(".json"), asdict(facts))  # last: what has it is whole
    return facts


def _read(file: Unpacked, piece: Piece, columns: Columns, split_by: str | None) -> tuple[RawLists | pl.LazyFrame, bool]:
    """Lists or rows, and whether the key to split by was seen: a table without that column is refused at once."""
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


def _keep_lists(raw: RawLists, path: Path) -> Facts:
    arrays = {"items": raw.lists.items, "offsets": raw.lists.offsets}
    if raw.groups is not None:
        arrays["groups"] = raw.groups
    save_arrays(path.with_suffix(".npz"), arrays)
    _save_table(path.with_suffix(".ids"), pl.DataFrame({"id": raw.ids}, schema={"id": pl.String}))
    return Facts(str(path), len(raw.lists), len(raw.lists.items), raw.ids_rise, (), tuple(raw.group_names))


def _keep_rows(table: pl.LazyFrame, path: Path, where: str) -> Facts:
    """The rows, with items as numbers of the piece's own ids and everything else in the types all pieces share."""
    with readable(where):
        rows = table.collect()
        for column in ("item", "list", "position"):
            if column in rows.columns and rows[column].null_count():
                raise missing_value(table, column, where)
        texts = [pl.col(name).cast(pl.String) for name in ("list", "item", "group") if name in rows.columns]
        whole = [pl.col(name).cast(pl.Int64) for name in ("position",) if rows.schema.get(name, pl.String).is_integer()]
        rows = rows.with_columns(*texts, *whole, pl.col("row").cast(pl.Int64))
    ids = rows.select(pl.col("item").unique().sort()).with_row_index("number")
    numbered = rows.join(ids, on="item", how="left", maintain_order="left").drop("item")
    _save_table(path.with_suffix(".rows"), numbered)
    _save_table(path.with_suffix(".ids"), ids.select(pl.col("item").alias("id")))
    return Facts(str(path), 0, rows.height, True, tuple(numbered.columns))


def save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez(file, **arrays)

    write_atomically(path, write)


def _save_table(path: Path, table: pl.DataFrame) -> None:
    write_atomically(path, lambda temporary: table.write_parquet(temporary, compression="lz4"))
