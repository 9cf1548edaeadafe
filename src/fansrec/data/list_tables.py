"""Small tables of lists, read without polars: one row per item, or one row per list."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from fansrec.data.columns import ITEM_NAMES, ITEMS_NAMES, LIST_NAMES, find, repeated
from fansrec.data.delimited import Dialect, allow_long_fields, detect_separator, parse_cell
from fansrec.data.list_order import Order, order_of
from fansrec.data.problems import LONG_ROW, NO_ITEM, NO_LIST, NOT_ARRAY, Problems
from fansrec.data.settings import NULL_VALUES
from fansrec.errors import BadInput

Row = dict[str, Any]  # `items` and, if the list has one, `id`
Cells = tuple[int, list[str]]  # the line of a row, and one cell for every column, empty if missing
ADVICE = "correct or remove them"


def read_table(
    lines: Iterable[bytes], header: bytes, source: object, report: Callable[[str], object] = lambda line: None
) -> Iterator[Row]:
    """Yield the lists of a table with one row per item, or one row per list.

    `report` gets the columns that were chosen and what orders the items, in one line, and notes.
    """
    allow_long_fields()
    separator = detect_separator(header.decode(errors="replace"), ",")
    dialect = Dialect(separator, quoted=separator != "\t")
    reader = csv.reader(_decoded(lines, source), strict=True, **dialect.reader)
    problems = Problems(str(source))
    try:
        names = [name.strip() for name in next(row for row in reader if row)]
        items, list_, item = (find(names, known) for known in (ITEMS_NAMES, LIST_NAMES, ITEM_NAMES))
        rows = _rows(reader, len(names), problems)
        for note in repeated(names):
            report(f"note: {note}")
        if list_ is not None and item is not None:
            yield from _item_rows(rows, names, list_, item, problems, report)
        elif items is not None:
            id_ = "id" if "id" in names else list_
            chosen = f"items {items!r}" + (f", list {id_!r}" if id_ else "")
            report(f"columns: {chosen}; each row is a list in its own order")
            yield from _whole_lists(rows, names.index(items), names.index(id_) if id_ else None, problems)
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


def _rows(reader: Any, width: int, problems: Problems) -> Iterator[Cells]:
    """Yield the rows that are not empty; rows with too many cells are noted."""
    line = reader.line_num + 1
    for row in reader:
        cells = ["" if cell.strip() in NULL_VALUES else cell.strip() for cell in row]
        if any(cells[width:]):
            problems.add(LONG_ROW, line)
        elif any(cells):
            yield line, [*cells[:width], *[""] * (width - len(cells))]
        line = reader.line_num + 1


def _item_rows(
    rows: Iterable[Cells],
    names: Sequence[str],
    list_: str,
    item: str,
    problems: Problems,
    report: Callable[[str], object],
) -> Iterator[Row]:
    """Yield the lists of rows that have one item each, in the order of their first rows."""
    read = list(rows)
    rest = [name if name not in (list_, item) else "" for name in names]
    order = order_of(rest, [cells for _, cells in read])
    report(f"columns: list {list_!r}, item {item!r}; {order.description}")
    for note in order.notes:
        report(f"note: {note}")
    lists = _grouped(read, names, list_, item, order, problems)
    if problems:
        advice = (
            f"{ADVICE}, or rename column {order.column!r} to keep the order of the rows" if order.column else ADVICE
        )
        raise _refusal(problems, advice if order.kind in problems.counts else ADVICE)
    for id_, items in lists.items():
        yield {"id": id_, "items": [one for _, one in sorted(items, key=lambda pair: pair[0])]}


def _grouped(
    rows: Sequence[Cells], names: Sequence[str], list_: str, item: str, order: Order, problems: Problems
) -> dict[str, list[tuple[float, str]]]:
    """Return the items of each list with the keys to sort them by; rows without one of the three are noted."""
    lists: dict[str, list[tuple[float, str]]] = {}
    at_list, at_item = names.index(list_), names.index(item)
    at_order = names.index(order.column) if order.column else None
    for (line, cells), key in zip(rows, order.keys, strict=True):
        if not cells[at_list]:
            problems.add(NO_LIST, line)
        elif not cells[at_item]:
            problems.add(NO_ITEM, line)
        elif key is None:
            value = "" if at_order is None else cells[at_order]
            problems.add(order.kind, line, repr(value) if value else "")
        else:
            lists.setdefault(cells[at_list], []).append((key, cells[at_item]))
    return lists


def _whole_lists(rows: Iterable[Cells], items: int, id_: int | None, problems: Problems) -> Iterator[Row]:
    """Yield the lists of rows that are lists: a JSON array, or ids separated by spaces."""
    for line, cells in rows:
        found, _ = parse_cell(cells[items], NULL_VALUES)
        if found is None:
            problems.add(NOT_ARRAY, line, repr(cells[items]))
        elif any(one is None for one in found):
            problems.add(NO_ITEM, line, repr(cells[items]))
        elif not problems:
            yield {"items": found} | ({} if id_ is None else {"id": cells[id_]})
    if problems:
        raise _refusal(problems, ADVICE)


def _refusal(problems: Problems, advice: str) -> BadInput:
    total = sum(problems.counts.values())
    rows = f"{total:,} row{'s' if total > 1 else ''} cannot be used"
    return BadInput(f"{problems.where}: {rows}: {problems.describe()}; {advice}")
