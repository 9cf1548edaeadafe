"""Text files of fields with a separator: which separator, which rows are malformed, and on which line a row starts."""

import csv
import json
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from fansrec.data.problems import BAD_QUOTE, LONG_ROW, Problems

CANDIDATES = (",", ";", "\t", "|")
MAX_RECORD_LINES = 100  # a quote that is not closed for longer was not meant as one


class Dialect(NamedTuple):
    """How the fields of a file are separated and whether they may be quoted."""

    separator: str
    quoted: bool  # a TSV is read without quoting: its cells may be JSON arrays

    @property
    def reader(self) -> dict[str, Any]:
        """The arguments of csv.reader."""
        quoting = csv.QUOTE_MINIMAL if self.quoted else csv.QUOTE_NONE
        return {"delimiter": self.separator, "quoting": quoting}


def detect_separator(line: str, default: str) -> str:
    """Return the candidate that occurs most often in the first line, outside of quotes and before a JSON array."""
    outside = "".join(line.split('"')[::2]) if line.count('"') % 2 == 0 else line
    counts = {candidate: outside.partition("[")[0].count(candidate) for candidate in (default, *CANDIDATES)}
    best = max(counts, key=lambda candidate: counts[candidate])
    return best if counts[best] else default


def headerless_items(line: str, separator: str) -> int | None:
    """Return the column of the JSON array if the first line has one and so is not a header, else None."""
    cells = line.split(separator)
    return next((index for index, cell in enumerate(cells) if cell.lstrip('" ').startswith("[")), None)


def lines_of_rows(path: Path, dialect: Dialect, has_header: bool, rows: Sequence[int]) -> dict[int, int]:
    """Return the line, counted from 1, where each of the rows starts; blank lines count as rows, as in polars."""
    wanted, found = set(rows), {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        allow_long_fields()
        reader = csv.reader(file, **dialect.reader)
        row, line = -1 if has_header else 0, 1
        for fields in reader:
            if fields or row >= 0:  # blank lines before the header are not rows
                if row in wanted:
                    found[row] = line
                    if len(found) == len(wanted):
                        break
                row += 1
            line = reader.line_num + 1
    return found


def repair(source: Path, target: Path, dialect: Dialect, problems: Problems) -> None:
    """Write a copy in which malformed rows are blank and stray quotes are quoted; rows stay on their lines."""
    width: int | None = None
    with target.open("w", encoding="utf-8", newline="") as copy:
        writer = csv.writer(copy, delimiter=dialect.separator, lineterminator="\n")
        for number, lines, fields in _records(source, dialect):
            if fields is None:
                problems.add(BAD_QUOTE, number)
            elif width is not None and any(fields[width:]):
                problems.add(LONG_ROW, number)
                fields = None
            else:
                width = width or len(fields) or None
                fields = fields[:width]
            if not fields:
                copy.write("\n" * lines)
            elif dialect.quoted:
                writer.writerow(fields)
            else:
                copy.write(dialect.separator.join(fields) + "\n")


def _records(path: Path, dialect: Dialect) -> Iterator[tuple[int, int, list[str] | None]]:
    """Yield the first line, the number of lines and the fields of every row; None for a row with a bad quote."""
    allow_long_fields()
    with path.open(encoding="utf-8-sig", newline="") as file:
        ahead: deque[str] = deque()  # lines that were read to find the end of a quote
        number = 1
        while line := ahead.popleft() if ahead else file.readline():
            following = islice(chain(tuple(ahead), _read_ahead(file, ahead)), MAX_RECORD_LINES - 1)
            lines, fields = _record(line, following, dialect)
            for _ in range(min(lines - 1, len(ahead))):
                ahead.popleft()
            yield number, lines, fields
            number += lines


def _read_ahead(file: TextIO, ahead: deque[str]) -> Iterator[str]:
    while line := file.readline():
        ahead.append(line)
        yield line


def _record(line: str, following: Iterator[str], dialect: Dialect) -> tuple[int, list[str] | None]:
    """Return the number of lines and the fields of the row that starts with `line`; 1 and None for a bad quote."""
    record, lines = line, 1
    fields, is_open = _fields(record, dialect)
    while is_open and (line := next(following, "")):
        record += line
        lines += 1
        if '"' in line:
            fields, is_open = _fields(record, dialect)
    return (lines, fields) if fields is not None else (1, None)


def _fields(record: str, dialect: Dialect) -> tuple[list[str] | None, bool]:
    """Return the fields of a row, None if a quote is in the wrong place or not closed, and whether it is not closed."""
    try:
        rows = list(csv.reader([record.rstrip("\r\n")], strict=True, **dialect.reader))
    except csv.Error as error:
        return None, "end of data" in str(error)
    return (rows[0] if rows else []), False


def allow_long_fields() -> None:
    """Let csv.reader read fields of any length: one may be a list of thousands of items."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))


def parse_cell(cell: str, null_values: Sequence[str] = ()) -> tuple[list[Any] | None, bool]:
    """Return the items in a cell of text, None if it is not valid JSON, and whether it is JSON, not ids and spaces."""
    cell = cell.strip()
    if cell.startswith('"['):  # a TSV is read without quoting, but some writers quote an array
        cell = cell[1:-1].replace('""', '"')
    if not cell.startswith("["):
        return [None if item in null_values else item for item in cell.split()], False
    try:
        items = json.loads(cell)
    except (ValueError, RecursionError):
        return None, True
    assert isinstance(items, list)
    return items, True
