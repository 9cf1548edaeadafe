"""Ids of lists, for example of those to be removed: one a line of a text file, or a column of a table."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from fansrec.data.columns import LIST_NAMES, find, required
from fansrec.data.decompression import check_utf8, decompressed
from fansrec.data.item_details import open_rows
from fansrec.data.problems import NO_LIST
from fansrec.data.reading import Reading
from fansrec.data.sources import Report, ignore, settle
from fansrec.data.tables import ROW, SUFFIXES, Table, is_dataframe, readable
from fansrec.errors import BadInput

CONTENT = "list ids"  # of the files, for messages


def read_list_ids(source: Any, reading: Reading = Reading(), report: Report = ignore) -> list[str]:  # noqa: B008
    """Return the ids of a .txt file, a table (csv, tsv, parquet, jsonl), a dataframe, or of Python values."""
    if isinstance(source, str | Path):
        with decompressed(Path(source), CONTENT) as file:
            if SUFFIXES.get(Path(file.name).suffix.lower()) == "text":
                check_utf8(file.path, str(source))
                lines = file.path.read_text(encoding="utf-8-sig").splitlines()
                return [line.strip() for line in lines if line.strip()]
        return _column(source, str(source), reading, report)
    if is_dataframe(source):
        return _column(source, "the dataframe of list ids", reading, report)
    if not isinstance(source, Iterable) or isinstance(source, bytes):
        raise BadInput(f"--remove is {source!r:.80}; give a file, a dataframe, or a list of list ids")
    return [_id(value) for value in source]


def _column(source: Any, where: str, reading: Reading, report: Report) -> list[str]:
    with readable(where), open_rows(source, where, reading, CONTENT) as (table, problems):
        column = _id_column(table, where, reading)
        selected = pl.col(ROW).alias("row"), pl.col(column).cast(pl.String).alias("id")
        rows = table.frame.select(selected).collect(engine="streaming")
        for row, id_ in rows.iter_rows():
            if not id_:
                problems.add(NO_LIST, row)
        table.locate(problems, [NO_LIST])
        settle(problems, reading, report)
    return [id_ for id_ in rows["id"].to_list() if id_]


def _id_column(table: Table, where: str, reading: Reading) -> str:
    names, given = table.names, reading.columns.list
    if given is not None and find(names, [given]):
        return required(names, given, "--list-column", where)
    found = "id" if "id" in names else find(names, LIST_NAMES)
    found = found or (names[0] if len(names) == 1 else None)
    return found or required(names, "list_id", "--list-column", where)


def _id(value: object) -> str:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise BadInput(f"--remove has {value!r:.80}, which is not the id of a list; give text or whole numbers")
    return str(value)
