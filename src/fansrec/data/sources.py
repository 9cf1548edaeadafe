"""Reading lists from files, dataframes, or Python lists of lists."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from fansrec.data.columns import ITEMS_NAMES, Columns, find, items_column, long_columns, required
from fansrec.data.decompression import PlainFile, decompressed
from fansrec.data.indexing import Row, index_rows, index_table
from fansrec.data.lists import RawLists
from fansrec.data.tables import format_of, from_dataframe, is_dataframe, json_rows, readable, scan
from fansrec.errors import BadInput


def read_lists(source: Any, columns: Columns = Columns(), split_by: str | None = None) -> RawLists:  # noqa: B008
    """Return all lists of a path, a polars or pandas dataframe, or a list of lists, with the groups of `split_by`."""
    if isinstance(source, str | Path):
        with decompressed(Path(source)) as file:
            raw = read_file(file, str(source), columns, split_by)
    elif is_dataframe(source):
        with readable("the dataframe"):
            raw = read_table(from_dataframe(source), "the dataframe", columns, split_by)
    else:
        if split_by is not None:
            raise BadInput(f"plain lists have no column {split_by!r} to split by; give a dataframe or a file")
        raw = index_rows(_plain_lists(source))
    if not len(raw.lists):
        raise BadInput(f"{source_name(source)} contains no lists; give a file that contains lists")
    return raw


def source_name(source: object) -> str:
    """Return the name of a source for the summary: of a file its name without folders."""
    if isinstance(source, str | Path):
        return Path(source).name
    return "dataframe" if is_dataframe(source) else "lists"


def read_file(file: PlainFile, where: str, columns: Columns, split_by: str | None) -> RawLists:
    kind = format_of(file, where)
    if kind == "jsonl":
        raw, has_split_key = read_json_lists(file.path, where, columns, split_by)
        if split_by is not None and not has_split_key:
            raise missing_split_key(where, split_by)
        return raw
    with readable(where):
        return read_table(scan(file, kind, where), where, columns, split_by)


def _plain_lists(source: Iterable[Sequence[object]]) -> Iterator[Row]:
    for number, items in enumerate(source, start=1):
        if isinstance(items, str | bytes | dict) or not hasattr(items, "__len__"):
            raise BadInput(f"list {number} is {items!r:.80}, not a list of item ids")
        yield Row(f"list {number}", items)


def read_json_lists(path: Path, where: str, columns: Columns, split_by: str | None) -> tuple[RawLists, bool]:
    """Return the lists of a JSON lines file, and whether at least one of them has the key to split by."""
    has_split_key = False

    def rows() -> Iterator[Row]:
        nonlocal has_split_key
        name: str | None = None
        for location, row in json_rows(path, where):
            name = name or columns.items or find(row, ITEMS_NAMES) or "items"
            if not isinstance(row.get(name), list):
                raise BadInput(
                    f"{location} has no list under {name!r}; write the items as a JSON array, or give --items-column"
                )
            has_split_key = has_split_key or split_by in row
            yield Row(location, row[name], json.dumps(row.get(split_by), sort_keys=True) if split_by else None)

    return index_rows(rows(), split_by is not None), has_split_key


def missing_split_key(where: str, split_by: str) -> BadInput:
    return BadInput(f"{where}: no list has the key {split_by!r} to split by; check --split-by")


def read_table(table: pl.LazyFrame, where: str, columns: Columns, split_by: str | None) -> RawLists:
    rows = long_rows(table, where, columns, split_by)
    if rows is not None:
        return index_table(rows, where)
    items = items_column(table.collect_schema().names(), columns, where)
    assert items is not None
    return _read_wide(table, items, where, split_by)


def long_rows(table: pl.LazyFrame, where: str, columns: Columns, split_by: str | None) -> pl.LazyFrame | None:
    """Return the columns row, list, item, and if present position and group; None if each row is a whole list."""
    schema = table.collect_schema()
    names = schema.names()
    if split_by is not None:
        required(names, split_by, "--split-by", where)
    if items_column(names, columns, where) is not None:
        return None
    columns = long_columns(names, columns, where)
    assert columns.list is not None and columns.item is not None
    _check_id_type(schema[columns.item], columns.item, where)
    selected = [_id(schema, columns.list).alias("list"), _id(schema, columns.item).alias("item")]
    if columns.position is not None:
        selected.append(_position(schema, columns.position).alias("position"))
    if split_by is not None:
        selected.append(pl.col(split_by).alias("group"))
    return table.select(selected).with_row_index("row")


def _read_wide(table: pl.LazyFrame, items: str, where: str, split_by: str | None) -> RawLists:
    """Read a table with one list per row."""
    dtype = table.collect_schema()[items]
    group = [pl.col(split_by).cast(pl.String).alias("group")] if split_by else []
    table = table.select(pl.col(items).alias("item"), *group)
    if isinstance(dtype, pl.List | pl.Array):
        _check_id_type(dtype.inner, items, where)
        table = table.with_columns(pl.col("item").cast(pl.List(dtype.inner))).with_row_index("row")
        table = table.filter(pl.col("item").list.len() > 0).explode("item")
        ids = _id(table.collect_schema(), "item").alias("item")
        return index_table(table.with_columns(ids, pl.col("row").alias("list")), where)
    if dtype != pl.String:
        raise BadInput(
            f"{where}: column {items!r} holds {dtype}; lists must be arrays, JSON texts or space-separated ids"
        )
    return index_rows(_cell_rows(table, where), split_by is not None)


def _cell_rows(table: pl.LazyFrame, where: str) -> Iterator[Row]:
    for number, (cell, *group) in enumerate(table.collect(engine="streaming").iter_rows(), start=1):
        location = f"{where}: row {number}"
        yield Row(location, parse_cell(cell or "", location), group[0] if group else None)


def parse_cell(cell: str, location: str) -> list[Any]:
    """Return the items in a cell of text: a JSON array, or ids separated by spaces."""
    cell = cell.strip()
    if cell.startswith('"['):  # a TSV is read without quoting, but some writers quote an array
        cell = cell[1:-1].replace('""', '"')
    if not cell.startswith("["):
        return cell.split()
    try:
        items = json.loads(cell)
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"{location}: {cell!r:.60} is not a JSON array ({error}); write JSON, or ids and spaces"
        ) from error
    assert isinstance(items, list)
    return items


def _id(schema: pl.Schema, name: str) -> pl.Expr:
    """Return a column of ids in which an empty string counts as missing."""
    column = pl.col(name)
    if schema[name] in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    elif schema[name] != pl.String:
        return column
    return pl.when(column != "").then(column)


def _position(schema: pl.Schema, name: str) -> pl.Expr:
    """Return a column to sort by; text that is not a whole number (1.0 is one) becomes null, which is refused later."""
    if schema[name] != pl.String:
        return pl.col(name).to_physical()
    number = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(number == number.floor()).then(number.cast(pl.Int64, strict=False))


def _check_id_type(dtype: Any, name: str, where: str) -> None:
    if not (dtype.is_integer() or dtype in (pl.String, pl.Categorical, pl.Enum)):
        raise BadInput(f"{where}: column {name!r} holds {dtype}; item ids must be text or whole numbers")
