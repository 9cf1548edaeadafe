"""Small tables of lists, read without polars: one row per item, or one row per list."""

import csv
from collections.abc import Iterable, Iterator
from typing import Any

from fansrec.data.columns import ITEM_NAMES, ITEMS_NAMES, LIST_NAMES, POSITION_NAMES, find
from fansrec.errors import BadInput
from fansrec.files import parse_json

SEPARATORS = ",;\t|"

Row = dict[str, Any]  # `items` and, if the list has one, `id`


def read_table(lines: Iterable[bytes], header: bytes, source: object) -> Iterator[Row]:
    """Yield the lists of a table with one row per item, or one row per list."""
    separator = max(SEPARATORS, key=header.decode(errors="replace").count)
    reader = csv.reader(_decoded(lines, source), delimiter=separator, strict=True)
    try:
        names = [name.strip() for name in next(row for row in reader if row)]
        items, list_, item = (find(names, known) for known in (ITEMS_NAMES, LIST_NAMES, ITEM_NAMES))
        rows = _rows(reader, len(names), source)
        if list_ is not None and item is not None:
            position = find(names, POSITION_NAMES)
            yield from _grouped(
                rows, names.index(list_), names.index(item), names.index(position) if position else None
            )
        elif items is not None:
            id_ = "id" if "id" in names else list_
            yield from _whole_lists(rows, names.index(items), names.index(id_) if id_ else None)
        else:
            found = ", ".join(names[:12])
            raise BadInput(f"{source} has neither the columns list_id and item_id nor items ({found}); rename them")
    except csv.Error as error:
        raise BadInput(f"{source}, line {reader.line_num} cannot be read ({error}); correct its quotes") from error


def _decoded(lines: Iterable[bytes], source: object) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise BadInput(
                f"{source}, line {number} is not UTF-8 text ({error.reason}); save the file as UTF-8"
            ) from error


def _rows(reader: Any, width: int, source: object) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows that are not empty, each with its location for messages."""
    for row in reader:
        if any(cell.strip() for cell in row):
            where = f"{source}, line {reader.line_num}"
            if len(row) != width:
                raise BadInput(f"{where} has {len(row)} fields, the header {width}; correct it")
            yield where, [cell.strip() for cell in row]


def _grouped(rows: Iterable[tuple[str, list[str]]], list_: int, item: int, position: int | None) -> Iterator[Row]:
    """Yield the lists of rows that have one item each, ordered by position if there is one."""
    lists: dict[str, list[tuple[float, str]]] = {}
    for where, row in rows:
        if not row[item] or not row[list_]:
            raise BadInput(f"{where} has an empty list id or item id; correct or remove it")
        at = 0.0 if position is None else _number(row[position], where)
        lists.setdefault(row[list_], []).append((at, row[item]))
    for id_, items in lists.items():
        yield {"id": id_, "items": [one for _, one in sorted(items, key=lambda pair: pair[0])]}


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"{where}: the position {text!r:.80} is not a number; correct it") from None


def _whole_lists(rows: Iterable[tuple[str, list[str]]], items: int, id_: int | None) -> Iterator[Row]:
    """Yield the lists of rows that are lists: a JSON array, or ids separated by spaces."""
    for where, row in rows:
        cell = row[items]
        try:
            found = parse_json(cell) if cell.startswith("[") else cell.split()
        except ValueError as error:
            raise BadInput(f"{where}: {cell!r:.80} is not a JSON array ({error}); correct it") from error
        yield {"items": found} | ({} if id_ is None else {"id": row[id_]})
