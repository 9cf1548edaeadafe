"""Reading the pieces in tasks; their lists, or rows to be grouped into lists, are kept in a work folder."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import ray

from fansrec.cluster.preparing.pieces import Piece, local_copy
from fansrec.cluster.preparing.tasks import task
from fansrec.data.decompression import PlainFile
from fansrec.data.json_lists import read_json
from fansrec.data.layout import layout_of
from fansrec.data.lists import Lists, RawLists, offsets_of
from fansrec.data.problems import Problems
from fansrec.data.reading import Reading
from fansrec.data.rows import long_rows, usable_rows
from fansrec.data.sources import read_table, report_layout
from fansrec.data.tables import ROW, Table, format_of, open_table, readable
from fansrec.errors import BadInput
from fansrec.files import write_atomically, write_json

NO_LISTS = RawLists(Lists(np.zeros(0, dtype=np.int32), offsets_of(np.zeros(0, dtype=np.int64))), [])


@dataclass(frozen=True)
class PieceInfo:
    """The kept content of a piece: whole lists, or rows with these columns."""

    path: str  # without the extensions .npz or .rows and .lists, .ids and .json
    lists: int
    interactions: int
    sorted_ids: bool
    columns: tuple[str, ...] = ()  # of rows
    group_names: tuple[str | None, ...] = ()  # of whole lists
    has_split_key: bool = True  # whether a list has the key to split by, if one is given
    chosen: dict[str, str | None] | None = None  # the columns of the source that are used
    report: tuple[str, ...] = ()
    kept: bool = False  # from an earlier run


def read_pieces(pieces: Sequence[Piece], work: Path, reading: Reading) -> list[PieceInfo]:
    """Read the pieces that an earlier run has not read; raise the first error after all have been read."""

    found: list[PieceInfo | BadInput] = ray.get([task(_read_or_refuse, piece, work, reading) for piece in pieces])
    if errors := [one for one in found if isinstance(one, BadInput)]:
        more = f" (and {len(errors) - 1:,} other shards cannot be read)" if len(errors) > 1 else ""
        raise BadInput(errors[0].on_command_line + more)
    return [one for one in found if isinstance(one, PieceInfo)]


def _read_or_refuse(piece: Piece, work: Path, reading: Reading) -> PieceInfo | BadInput:
    """Return an error instead of raising it, since a retry would not change it."""
    try:
        return _read_piece(piece, work, reading)
    except BadInput as error:
        return error


def _parse_info(text: str, **changes: Any) -> PieceInfo:
    values: dict[str, Any] = json.loads(text) | changes
    return PieceInfo(**values | {name: tuple(values[name]) for name in ("columns", "group_names", "report")})


@dataclass
class Content:
    """What a piece contains: whole lists, or rows to be grouped into lists."""

    lists: RawLists | None = None
    rows: pl.LazyFrame | None = None
    chosen: dict[str, str | None] | None = None
    integers: dict[str, bool] | None = None  # of the ids in the rows; None if the type of the column says so
    has_split_key: bool = True
    report: list[str] = field(default_factory=list)


def _read_piece(piece: Piece, work: Path, reading: Reading) -> PieceInfo:
    path = work / f"piece-{piece.key(reading)}"
    if path.with_suffix(".json").exists():
        return _parse_info(path.with_suffix(".json").read_text(), kept=True)
    with local_copy(piece) as file:
        content = Content(NO_LISTS, has_split_key=False)
        if file is not None:
            with readable(piece.where):
                content = _read(file, piece, reading)
    info = _keep_rows(content, path) if content.lists is None else _keep_lists(content.lists, path)
    info = replace(info, has_split_key=content.has_split_key, chosen=content.chosen, report=tuple(content.report))
    write_json(path.with_suffix(".json"), asdict(info))  # last: it marks the piece as complete
    return info


def _read(file: PlainFile, piece: Piece, reading: Reading) -> Content:
    """Return the lists or rows of a piece; a table without the column to split by is refused."""
    kind, where = format_of(file, piece.where), piece.where
    if kind != "jsonl":
        with open_table(file, kind, where, reading) as (table, problems):
            if piece.end is not None:
                frame = table.frame.drop(ROW).slice(piece.first, piece.end - piece.first)
                table = replace(table, frame=frame.with_row_index(ROW))
            return _read_table(table, where, reading, problems)
    problems = Problems(where)
    content = read_json(file.path, where, reading, problems)
    if isinstance(content, Table):
        return _read_table(content, where, reading, problems)
    report = [content.layout.describe(), *reading.settle(problems)]
    return Content(content.lists, None, content.lists.columns, None, content.has_split_key, report)


def _read_table(table: Table, where: str, reading: Reading, problems: Problems) -> Content:
    layout = layout_of(table, where, reading)
    content = Content(chosen=layout.summary, integers=table.integers)
    report_layout(layout, content.report.append)
    if layout.items is not None:
        content.lists = read_table(table, where, reading, problems, content.report.append, layout)
        return content
    rows = long_rows(table, layout, where, reading.split_by, reading.list_time is not None)
    rows = usable_rows(rows, table, layout, problems)
    content.report += reading.settle(problems)
    content.rows = rows.collect(engine="streaming").lazy()
    return content


def _keep_lists(raw: RawLists, path: Path) -> PieceInfo:
    arrays = {"items": raw.lists.items, "offsets": raw.lists.offsets}
    for name, values in (("groups", raw.groups), ("times", raw.times)):
        if values is not None:
            arrays[name] = values
    save_arrays(path.with_suffix(".npz"), arrays)
    integers = np.zeros(len(raw.ids), dtype=np.bool_) if raw.integers is None else raw.integers
    schema = {"id": pl.String, "integer": pl.Boolean}
    _save_table(path.with_suffix(".ids"), pl.DataFrame({"id": raw.ids, "integer": integers}, schema=schema))
    return PieceInfo(str(path), len(raw.lists), len(raw.lists.items), raw.sorted_ids, (), tuple(raw.group_names))


def _keep_rows(content: Content, path: Path) -> PieceInfo:
    """Keep the rows, with items and lists as indices of the piece's own ids and the same types in all pieces."""
    assert content.rows is not None
    rows = content.rows.collect().drop("id", "title", strict=False)
    is_integer = rows.schema["item"].is_integer()
    lists = rows.select(pl.col("list").unique(maintain_order=True)).with_row_index("list_index")
    rows = rows.join(lists, on="list", how="left", maintain_order="left").drop("list")
    rows = rows.rename({"list_index": "list"}).with_columns(pl.col("list").cast(pl.Int32))
    texts = [pl.col(name).cast(pl.String) for name in ("item", "group") if name in rows.columns]
    integers = [pl.col(name).cast(pl.Int64) for name in ("position",) if rows.schema.get(name, pl.String).is_integer()]
    rows = rows.with_columns(*texts, *integers, pl.col("row").cast(pl.Int64))
    ids = rows.select(pl.col("item").unique().sort()).with_row_index("index")
    indexed = rows.join(ids, on="item", how="left", maintain_order="left").drop("item")
    _save_table(path.with_suffix(".rows"), indexed)
    _save_table(path.with_suffix(".lists"), lists.select(pl.col("list").cast(pl.String)))
    types = [is_integer if content.integers is None else content.integers[id_] for id_ in ids["item"]]
    types_of_ids = pl.Series("integer", types, dtype=pl.Boolean)
    _save_table(path.with_suffix(".ids"), ids.select(pl.col("item").alias("id"), types_of_ids))
    return PieceInfo(str(path), 0, rows.height, True, tuple(indexed.columns))


def save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez(file, **arrays)

    write_atomically(path, write)


def _save_table(path: Path, table: pl.DataFrame) -> None:
    write_atomically(path, lambda temporary: table.write_parquet(temporary, compression="lz4"))
