"""Lists in JSON lines: one list per line, or one item per line."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from fansrec.data.columns import (
    ITEM_NAMES,
    ITEMS_NAMES,
    LIST_NAMES,
    POSITION_NAMES,
    TIME_NAMES,
    TITLE_NAMES,
    find,
    find_all,
    required,
)  # fmt: skip
from fansrec.data.indexing import Row, index_rows, of_valid_length
from fansrec.data.layout import Layout, missing_time, own_names
from fansrec.data.lists import RawLists
from fansrec.data.problems import NOT_ID, NOT_ITEMS, Problems
from fansrec.data.reading import Reading
from fansrec.data.tables import ROW, Table, json_rows
from fansrec.errors import BadInput


@dataclass(frozen=True)
class JsonLists:
    """Whole lists of a JSON lines file."""

    lists: RawLists
    layout: Layout
    has_split_key: bool  # whether at least one list has the key to split by


def read_json(path: Path, where: str, reading: Reading, problems: Problems) -> JsonLists | Table:
    """Return the lists of a JSON lines file, or a table if each line is one item."""
    rows = json_rows(path, problems)
    first = next(rows, None)
    if first is not None and _is_item(first[1], reading):
        return _item_table(chain([first], rows), first[1], where, reading, problems)
    return _read_lists(chain([first] if first else [], rows), where, reading, problems)


def _is_item(row: dict[str, Any], reading: Reading) -> bool:
    """Return whether a row has a list id and an item id, and not a whole list."""
    columns = reading.columns
    if columns.items is not None or any(isinstance(row[name], list) for name in find_all(row, ITEMS_NAMES)):
        return False
    return bool((columns.list or find(row, LIST_NAMES)) and (columns.item or find(row, ITEM_NAMES)))


def _read_lists(
    rows: Iterator[tuple[int, dict[str, Any]]], where: str, reading: Reading, problems: Problems
) -> JsonLists:
    has_split_key, split_by = False, reading.split_by
    items_key, time_key = reading.columns.items, reading.columns.time
    named: tuple[str | None, str | None] | None = None
    if reading.order in ("position", "time"):
        raise BadInput(f"{where}: each line is a whole list, so --order {reading.order} cannot order its items")

    def lists() -> Iterator[Row]:
        nonlocal has_split_key, items_key, time_key, named
        for number, row in rows:
            items_key = items_key or find(row, ITEMS_NAMES)
            items = row.get(items_key or "items")
            if not isinstance(items, list):
                problems.add(NOT_ITEMS, number, f"no {items_key or 'items'!r}")
                continue
            if reading.list_time and time_key is None:
                time_key = find(row, TIME_NAMES)
                if time_key is None:
                    raise missing_time(where, list(row))
            has_split_key = has_split_key or split_by in row
            group = json.dumps(row.get(split_by), sort_keys=True) if split_by else None
            named = named or own_names(row, reading.columns)
            id_, title = (_text(row.get(key)) or None if key else None for key in named)
            yield Row(number, items, group, _text(row.get(time_key)) if time_key else None, id_, title)

    rows_of_lists = of_valid_length(lists(), reading.most_items, problems)
    raw = index_rows(rows_of_lists, problems, split_by is not None, reading.list_time is not None)
    id_key, title_key = named or (None, None)
    layout = Layout(
        list=id_key, items=items_key or "items", time=time_key if reading.list_time else None, title=title_key
    )
    return JsonLists(replace(raw, columns=layout.summary), layout, has_split_key)


def _item_table(
    rows: Iterator[tuple[int, dict[str, Any]]], first: dict[str, Any], where: str, reading: Reading, problems: Problems
) -> Table:
    """Return a table of text with the columns that may be used; ids that are neither text nor integers are noted."""
    columns, names = reading.columns, list(first)
    item = required(names, columns.item, "--item-column", where) if columns.item else find(names, ITEM_NAMES)
    known = [name for those in (LIST_NAMES, POSITION_NAMES, TIME_NAMES, TITLE_NAMES) for name in find_all(names, those)]
    given = (columns.list, columns.position, columns.time, reading.split_by)
    kept = [*dict.fromkeys([*known, *(name for name in given if name and name in names), *([item] if item else [])])]
    cells: dict[str, list[str | None]] = {name: [] for name in kept}
    lines: list[int] = []
    types: dict[str, bool] = {}  # whether an item id is always an integer
    for number, row in rows:
        value = row.get(item) if item else None
        if value is not None and type(value) not in (int, str):
            problems.add(NOT_ID, number, value)
            continue
        if value is not None:
            types[str(value)] = types.get(str(value), True) and type(value) is int
        lines.append(number)
        for name in kept:
            cells[name].append(_text(row.get(name)))
    frame = pl.DataFrame(cells, schema=dict.fromkeys(kept, pl.String))
    frame = frame.with_columns(pl.Series(ROW, lines, dtype=pl.UInt32))
    return Table(frame.lazy(), typed=True, lines=lambda rows: {row: row for row in rows}, integers=types)


def _text(value: object) -> str | None:
    """Return a scalar as text; None for what is neither text nor a number."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
