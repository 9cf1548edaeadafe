"""Lists out of whatever holds them: files, dataframes, or plain lists of lists."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from fansrec.data import columns as naming
from fansrec.data.columns import Columns
from fansrec.data.encoding import Row, encode_rows, encode_table
from fansrec.data.lists import RawLists
from fansrec.data.tables import format_of, from_dataframe, is_dataframe, json_rows, readable, scan
from fansrec.data.unpacking import Unpacked, unpacked
from fansrec.errors import BadInput


def read_lists(source: Any, columns: Columns = Columns(), split_by: str | None = None) -> RawLists:  # noqa: B008
    """Every list of a path, a polars or pandas dataframe, or a list of lists; `split_by` names a column to keep."""
    if isinstance(source, str | Path):
        with unpacked(Path(source)) as file:
            raw = read_file(file, str(source), columns, split_by)
    elif is_dataframe(source):
        with readable("the dataframe"):
            raw = read_table(from_dataframe(source), "the dataframe", columns, split_by)
    else:
        raw = _read_plain(source, split_by)
    if not len(raw.lists):
        raise BadInput(f"{source_name(source)} holds no lists; give a file with lists in it")
    return raw


def source_name(source: object) -> str:
    """What a source is called in a summary: the name of a file, without the folders of the machine it lies on."""
    if isinstance(source, str | Path):
        return Path(source).name
    return "dataframe" if is_dataframe(source) else "lists"


def read_file(file: Unpacked, where: str, columns: Columns, split_by: str | None) -> RawLists:
    kind = format_of(file, where)
    if kind == "jsonl":
        raw, split_seen = read_json_lists(file.path, where, columns, split_by)
        if split_by is not None and not split_seen:
            raise no_split_key(where, split_by)
        return raw
    with readable(where):
        return read_table(scan(file, kind, where), where, columns, split_by)


def _read_plain(source: Iterable[Sequence[object]], split_by: str | None) -> RawLists:
    if split_by is not None:
        raise BadInput(f"plain lists have no column {split_by!r} to split by; give a dataframe or a file")
    return encode_rows(_plain_lists(source))


def _plain_lists(source: Iterable[Sequence[object]]) -> Iterator[Row]:
    for number, items in enumerate(source, start=1):
        if isinstance(items, str | bytes | dict) or not hasattr(items, "__len__"):
            raise BadInput(f"list {number} is {items!r:.80}, not a list of item ids")
        yield Row(f"list {number}", items)


def read_json_lists(path: Path, where: str, columns: Columns, split_by: str | None) -> tuple[RawLists, bool]:
    """The lists of JSON lines, and whether one of them has the key to split by."""
    split_seen = False

    def rows() -> Iterator[Row]:
        nonlocal split_seen
        name: str | None = None
        for place, row in json_rows(path, where):
            name = name or columns.items or naming.find(row, naming.ITEMS_NAMES) or "items"
            if not isinstance(row.get(name), list):
                raise BadInput(
                    f"{place} has no list under {name!r}; write the items as a JSON array, or --items-column"
                )
            split_seen = split_seen or split_by in row
            yield Row(place, row[name], json.dumps(row.get(split_by), sort_keys=True) if split_by else None)

    return encode_rows(rows(), split_by is not None), split_seen


def no_split_key(where: str, split_by: str) -> BadInput:
    return BadInput(f"{where}: no list has the key {split_by!r} to split by; check --split-by")


def read_table(table: pl.LazyFrame, where: str, columns: Columns, split_by: str | None) -> RawLists:
    rows = long_rows(table, where, columns, split_by)
    if rows is not None:
        return encode_table(rows, where)
    items = naming.items_column(table.collect_schema().names(), columns, where)
    assert items is not None
    return _read_wide(table, items, where, split_by)


def long_rows(table: pl.LazyFrame, where: str, columns: Columns, split_by: str | None) -> pl.LazyFrame | None:
    """Of a table with one row an item: row, list, item, perhaps position and group; None where a row is a list."""
    schema = table.collect_schema()
    names = schema.names()
    if split_by is not None:
        naming.required(names, split_by, "--split-by", where)
    if naming.items_column(names, columns, where) is not None:
        return None
    columns = naming.long_columns(names, columns, where)
    assert columns.list is not None and columns.item is not None
    _refuse_odd_ids(schema[columns.item], columns.item, where)
    wanted = [_id(schema, columns.list).alias("list"), _id(schema, columns.item).alias("item")]
    if columns.position is not None:
        wanted.append(_position(schema, columns.position).alias("position"))
    if split_by is not None:
        wanted.append(pl.col(split_by).alias("group"))
    return table.select(wanted).with_row_index("row")


def _read_wide(table: pl.LazyFrame, items: str, where: str, split_by: str | None) -> RawLists:
    """One row a list."""
    dtype = table.collect_schema()[items]
    group = [pl.col(split_by).cast(pl.String).alias("group")] if split_by else []
    table = table.select(pl.col(items).alias("item"), *group)
    if isinstance(dtype, pl.List | pl.Array):
        _refuse_odd_ids(dtype.inner, items, where)
        table = table.with_columns(pl.col("item").cast(pl.List(dtype.inner))).with_row_index("row")
        table = table.filter(pl.col("item").list.len() > 0).explode("item")
        ids = _id(table.collect_schema(), "item").alias("item")
        return encode_table(table.with_columns(ids, pl.col("row").alias("list")), where)
    if dtype != pl.String:
        raise BadInput(f"{where}: column {items!r} holds {dtype}; lists are arrays, JSON texts or space-separated ids")
    return encode_rows(_cells(table, where), split_by is not None)


def _cells(table: pl.LazyFrame, where: str) -> Iterator[Row]:
    for number, (cell, *group) in enumerate(table.collect(engine="streaming").iter_rows(), start=1):
        place = f"{where}: row {number}"
        yield Row(place, cell_items(cell or "", place), group[0] if group else None)


def cell_items(cell: str, place: str) -> list[Any]:
    """The items in one cell of text: a JSON array, or ids with spaces between them."""
    cell = cell.strip()
    if cell.startswith('"['):  # a TSV is read without quotes, yet some writers quote an array
        cell = cell[1:-1].replace('""', '"')
    if not cell.startswith("["):
        return cell.split()
    try:
        items = json.loads(cell)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{place}: {cell!r:.60} is no JSON array ({error}); write JSON, or ids with spaces") from error
    assert isinstance(items, list)
    return items


def _id(schema: pl.Schema, name: str) -> pl.Expr:
    """A column of ids, an empty text counting as missing."""
    column = pl.col(name)
    if schema[name] in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    elif schema[name] != pl.String:
        return column
    return pl.when(column != "").then(column)


def _position(schema: pl.Schema, name: str) -> pl.Expr:
    """A column to order by; text that is no whole number (1.0 is one) becomes missing, and is refused as such."""
    if schema[name] != pl.String:
        return pl.col(name).to_physical()
    number = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(number == number.floor()).then(number.cast(pl.Int64, strict=False))


def _refuse_odd_ids(dtype: Any, name: str, where: str) -> None:
    if not (dtype.is_integer() or dtype in (pl.String, pl.Categorical, pl.Enum)):
        raise BadInput(f"{where}: column {name!r} holds {dtype}; item ids are text or whole numbers")
