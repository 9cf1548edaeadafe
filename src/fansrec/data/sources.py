"""Reading lists from files, dataframes, or Python lists of lists."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fansrec.data.decompression import PlainFile, decompressed
from fansrec.data.delimited import parse_cell
from fansrec.data.indexing import Row, index_rows, index_table, list_names, of_valid_length
from fansrec.data.json_lists import read_json
from fansrec.data.layout import Layout, layout_of
from fansrec.data.lists import RawLists
from fansrec.data.problems import EMPTY_LIST, LONG_LIST, NO_ITEM, NOT_ARRAY, NOT_ID, NOT_UNICODE, Problems
from fansrec.data.reading import Reading
from fansrec.data.rows import check_id_type, id_column, long_rows, time_column, usable_rows, without_long_lists
from fansrec.data.tables import ROW, Table, format_of, from_dataframe, is_dataframe, open_table, readable
from fansrec.errors import BadInput
from fansrec.printable import counted

Report = Callable[[str], None]


def ignore(_: str) -> None:
    """Ignore a line of the report."""


def read_lists(source: Any, reading: Reading = Reading(), report: Report = ignore) -> RawLists:  # noqa: B008
    """Return all lists of a path, a polars or pandas dataframe, or a list of lists, with their groups and times."""
    if isinstance(source, str | Path):
        with decompressed(Path(source)) as file:
            raw = _read_file(file, str(source), reading, report)
    elif is_dataframe(source):
        with readable("the dataframe"):
            table = Table(from_dataframe(source).with_row_index(ROW))
            raw = read_table(table, "the dataframe", reading, table.problems("the dataframe"), report)
    else:
        raw = _read_plain(source, reading, report)
    if not len(raw.lists):
        raise BadInput(f"{source_name(source)} contains no lists; give a file that contains lists")
    return _with_distinct_ids(raw, reading, report)


def _with_distinct_ids(raw: RawLists, reading: Reading, report: Report) -> RawLists:
    """Return the lists without their ids if several have the same one, unless repeated ids are to be kept."""
    if raw.names is None:
        return raw
    counts = Counter(id_ for id_ in raw.names.ids if id_ is not None)
    repeated = sum(count > 1 for count in counts.values())
    if not repeated:
        return raw
    if reading.repeated_ids:
        report(f"note: several lists have the same id ({counted(repeated, 'id')}); the last list of each id is used")
        return raw
    report("note: the ids of the lists are not kept, since several lists have the same id")
    return replace(raw, names=list_names(titles=raw.names.titles or ()))


def source_name(source: object) -> str:
    """Return the name of a source for the summary: of a file its name without folders."""
    if isinstance(source, str | Path):
        return Path(source).name
    return "dataframe" if is_dataframe(source) else "lists"


def _read_file(file: PlainFile, where: str, reading: Reading, report: Report) -> RawLists:
    kind = format_of(file, where, reading.separator)
    with readable(where):
        if kind != "jsonl":
            with open_table(file, kind, where, reading) as (table, problems):
                return read_table(table, where, reading, problems, report)
        problems = Problems(where)
        content = read_json(file.path, where, reading, problems)
        if isinstance(content, Table):
            return read_table(content, where, reading, problems, report)
        report_layout(content.layout, report)
        settle(problems, reading, report)
    if reading.split_by is not None and not content.has_split_key:
        raise missing_split_key(where, reading.split_by)
    return content.lists


def settle(problems: Problems, reading: Reading, report: Report) -> None:
    """Refuse the problems of a source, or report that its bad rows were skipped."""
    for line in reading.settle(problems):
        report(line)


def _read_plain(source: Iterable[Sequence[object]], reading: Reading, report: Report) -> RawLists:
    for value, what in ((reading.split_by, "split by"), (reading.list_time and "time", "use for --split time")):
        if value is not None:
            raise BadInput(f"plain lists have no column {value!r} to {what}; give a dataframe or a file")
    if not isinstance(source, Iterable):
        raise BadInput(f"the source is {source!r:.80}; give a file, a dataframe, or a list of lists of item ids")
    problems = Problems("lists", "list")
    raw = index_rows(of_valid_length(_plain_lists(source), reading.most_items, problems), problems)
    settle(problems, reading, report)
    return raw


def _plain_lists(source: Iterable[Sequence[object]]) -> Iterator[Row]:
    for number, items in enumerate(source, start=1):
        if isinstance(items, str | bytes | dict) or not hasattr(items, "__len__"):
            raise BadInput(f"list {number} is {items!r:.80}, not a list of item ids")
        yield Row(number, items)


def missing_split_key(where: str, split_by: str) -> BadInput:
    return BadInput(f"{where}: no list has the key {split_by!r} to split by; check --split-by")


def read_table(
    table: Table, where: str, reading: Reading, problems: Problems, report: Report, layout: Layout | None = None
) -> RawLists:
    """Return the lists of a table; bad rows are refused, or skipped and reported."""
    if layout is None:
        layout = layout_of(table, where, reading)
        report_layout(layout, report)
    if layout.items is not None:
        raw = _read_wide(table, layout, where, reading, problems)
        settle(problems, reading, report)
        return replace(raw, columns=layout.summary)
    rows = long_rows(table, layout, where, reading.split_by, reading.list_time is not None)
    rows = _usable(rows, table, layout, reading, problems)
    settle(problems, reading, report)
    raw = index_table(rows, where, reading.list_time, typed=table.typed)
    if raw.ties and layout.order == "position":
        report(f"note: {raw.ties:,} items have the same position as another one of their list; they keep their order")
    if table.integers is not None:
        raw = replace(raw, integers=np.array([table.integers[id_] for id_ in raw.ids], dtype=np.bool_))
    return replace(raw, columns=layout.summary)


def _usable(rows: pl.LazyFrame, table: Table, layout: Layout, reading: Reading, problems: Problems) -> pl.LazyFrame:
    """Return the rows without those that have a problem, and without those of lists that are too long."""
    rows = usable_rows(rows, table, layout, problems)
    return rows if reading.most_items is None else without_long_lists(rows, table, reading.most_items, problems)


def _note_empty_lists(rows: pl.LazyFrame, table: Table, problems: Problems) -> None:
    empty = rows.filter(pl.col("item").list.len().fill_null(0) == 0).select("row").collect(engine="streaming")
    for row in empty["row"]:
        problems.add(EMPTY_LIST, row)
    table.locate(problems, [EMPTY_LIST])


def report_layout(layout: Layout, report: Report) -> None:
    report(layout.describe())
    for note in layout.notes:
        report(f"note: {note}")


def _read_wide(table: Table, layout: Layout, where: str, reading: Reading, problems: Problems) -> RawLists:
    """Read a table with one list per row."""
    assert layout.items is not None
    schema, split_by = table.frame.collect_schema(), reading.split_by
    dtype = schema[layout.items]
    selected = [pl.col(ROW).alias("row"), pl.col(layout.items).alias("item")]
    if split_by is not None:
        selected.append(pl.col(split_by).cast(pl.String).alias("group"))
    named = {"id": layout.list, "title": layout.title}
    selected += [pl.col(name).cast(pl.String).alias(role) for role, name in named.items() if name is not None]
    if isinstance(dtype, pl.List | pl.Array):
        check_id_type(dtype.inner, layout.items, where)
        if reading.list_time:
            selected.append(time_column(schema, layout).alias("time"))
        rows = table.frame.select(selected).with_columns(pl.col("item").cast(pl.List(dtype.inner)))
        if reading.most_items is not None:
            _note_empty_lists(rows, table, problems)
        rows = rows.filter(pl.col("item").list.len() > 0).explode("item")
        ids = id_column(rows.collect_schema(), "item").alias("item")
        rows = _usable(rows.with_columns(ids, pl.col("row").alias("list")), table, layout, reading, problems)
        return index_table(rows, where, reading.list_time)
    if dtype != pl.String:
        raise BadInput(
            f"{where}: column {layout.items!r} holds {dtype}; lists must be arrays, JSON texts or space-separated ids"
        )
    if reading.list_time and layout.time is not None:
        selected.append(pl.col(layout.time).cast(pl.String).alias("time"))
    blank = [] if table.typed else [pl.all_horizontal(pl.col(table.names).is_null()).alias("blank")]
    cells = table.frame.select(*selected, *blank)
    if blank:
        cells = cells.filter(~pl.col("blank")).drop("blank")
    return _read_cells(cells, table, reading, problems)


def _read_cells(cells: pl.LazyFrame, table: Table, reading: Reading, problems: Problems) -> RawLists:
    """Read lists from cells of text."""
    has_json = False
    null_values = () if table.typed else reading.null_values

    def rows() -> Iterator[Row]:
        nonlocal has_json
        for cell in cells.collect(engine="streaming").iter_rows(named=True):
            items, is_json = parse_cell(cell["item"] or "", null_values)
            has_json = has_json or is_json
            if items is None:
                problems.add(NOT_ARRAY, cell["row"], repr(cell["item"]))
                continue
            yield Row(cell["row"], items, *map(cell.get, ("group", "time", "id", "title")))

    lists = of_valid_length(rows(), reading.most_items, problems)
    raw = index_rows(lists, problems, reading.split_by is not None, reading.list_time is not None)
    table.locate(problems, [NOT_ARRAY, NO_ITEM, NOT_ID, NOT_UNICODE, EMPTY_LIST, LONG_LIST])
    return raw if has_json or table.typed else replace(raw, integers=None)
