"""Files of lists to continue: JSON lines, or a table with a header; recognized by their first character."""

import csv
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, Any

from fansrec.api.many_lists import LISTS_AT_ONCE, Row, read_batches
from fansrec.data.columns import ITEM_NAMES, ITEMS_NAMES, LIST_NAMES, POSITION_NAMES, find
from fansrec.errors import BadInput
from fansrec.files import parse_json

SEPARATORS = ",;\t|"
BOM = b"\xef\xbb\xbf"
LAYOUTS = (
    'JSON lines ({"id": 1, "items": ["a"]} or ["a"]), or a CSV table with the columns list_id and item_id, or items'
)
OTHER_FORMATS = {b"PAR1": "a Parquet file", b"\x1f\x8b": "compressed with gzip", b"PK\x03\x04": "a zip file"}


class CountedLines:
    """The lines of a file that may be a pipe, and how many bytes of it have been read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._bytes = file, 0
        self._first = file.readline()
        while self._first and not self._first.removeprefix(BOM).strip():
            self._bytes += len(self._first)
            self._first = file.readline()
        self.start = self._first.removeprefix(BOM).lstrip()

    def readline(self) -> bytes:
        line, self._first = self._first or self._file.readline(), b""
        self._bytes += len(line)
        return line

    def tell(self) -> int:
        """Return how many bytes have been read."""
        return self._bytes

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")


def read_lists(lines: CountedLines, source: object) -> Iterator[list[Row]]:
    """Yield the lists of a file in batches, in the order of their first lines."""
    for magic, what in OTHER_FORMATS.items():
        if lines.start.startswith(magic):
            raise BadInput(f"{source} is {what}; give {LAYOUTS}")
    if not lines.start or lines.start[:1] in b"[{":
        yield from read_batches(lines, source)
        return
    rows = _read_table(lines, source)
    while batch := list(islice(rows, LISTS_AT_ONCE)):
        yield batch


def _read_table(lines: CountedLines, source: object) -> Iterator[Row]:
    """Yield the lists of a table with one row per item, or one row per list."""
    separator = max(SEPARATORS, key=lines.start.decode(errors="replace").count)
    reader = csv.reader(_decoded(lines, source), delimiter=separator, strict=True)
    try:
        names = [name.strip() for name in next(reader)]
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
            raise BadInput(f"{source} has neither the columns list_id and item_id nor items ({found}); give {LAYOUTS}")
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
