"""File formats: tabular files and dataframes as polars tables, JSON lines as dictionaries."""

import csv
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

import polars as pl

from fansrec.data.columns import ITEM_NAMES, ITEMS_NAMES, LIST_NAMES, find, repeated
from fansrec.data.decompression import PlainFile, check_utf8
from fansrec.data.delimited import (
    CANDIDATES,
    Dialect,
    allow_long_fields,
    detect_separator,
    headerless_items,
    lines_of_rows,
    repair,
)
from fansrec.data.problems import NOT_JSON, NOT_OBJECT, NOT_PAIR, Problems
from fansrec.data.reading import Reading
from fansrec.errors import BadInput

ROW = "__row__"  # the column with the index of each row

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".txt": "text",
}
PAIR = r"^\s*(\S+)\s+(\S+)\s*$"


def format_of(file: PlainFile, where: str, separator: str | None = None, content: str = "lists") -> str:
    """Return csv, tsv, parquet, jsonl or pairs: by the file name, or by the first line of a .txt file.

    A text file with a given separator is a csv file. `content` says in messages what the file should contain.
    """
    known = SUFFIXES.get(Path(file.name).suffix.lower())
    if known is None:
        raise BadInput(
            f"{where}: {file.name} has an unknown extension; supported are {', '.join(SUFFIXES)}, also with .gz or .zip"
        )
    if known == "parquet":
        return known
    check_utf8(file.path, where)
    first = first_line(file.path, where, content)
    if known != "text":
        return known
    return _text_format(first) if separator is None else "csv"


def _text_format(line: str) -> str:
    if "\t" in line and (len(line.split()) != 2 or line.split("\t")[1].startswith("[")):
        return "tsv"
    separated = [line.split(separator) for separator in CANDIDATES if separator != "\t" and separator in line]
    if separated and (len(line.split()) != 2 or any(map(_is_header, separated))):
        return "csv"
    return "pairs"


def _is_header(cells: Sequence[str]) -> bool:
    """Return whether the cells name the columns of lists."""
    return bool((find(cells, LIST_NAMES) and find(cells, ITEM_NAMES)) or find(cells, ITEMS_NAMES))


def first_line(path: Path, where: str, content: str = "lists") -> str:
    with path.open(encoding="utf-8-sig") as file:
        for line in file:
            if line.strip():
                return line.rstrip("\n")
    raise BadInput(f"{where} is empty; give a file that contains {content}")


@contextmanager
def readable(where: str) -> Iterator[None]:
    """Turn a polars error about a damaged file into BadInput. Polars reads lazily: wrap the whole reading."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise BadInput(f"{where} cannot be read ({reason}); check that the file is complete") from error


@dataclass(frozen=True)
class Table:
    """A tabular source: a lazy frame with the column ROW, the index of each row."""

    frame: pl.LazyFrame
    typed: bool = True  # False for text files, whose cells are all text
    lines: Callable[[Sequence[int]], dict[int, int]] | None = None  # the line of each row; None to count rows
    integers: dict[str, bool] | None = None  # whether an item id is an integer; None if the type of the column says so
    notes: tuple[str, ...] = ()  # about its header

    @property
    def names(self) -> list[str]:
        return [name for name in self.frame.collect_schema().names() if name != ROW]

    def problems(self, where: str) -> Problems:
        return Problems(where, "row" if self.lines is None else "line")

    def locate(self, problems: Problems, kinds: Sequence[str]) -> None:
        """Replace row indices by lines, or by row numbers counted from 1."""
        problems.resolve(kinds, self.lines or _row_numbers)


def _row_numbers(rows: Sequence[int]) -> dict[int, int]:
    return {row: row + 1 for row in rows}


@contextmanager
def open_table(file: PlainFile, kind: str, where: str, reading: Reading) -> Iterator[tuple[Table, Problems]]:
    """Yield a tabular file and the rows that are malformed; a repaired copy of a text file lasts as long as the block.

    Text stays text, so that an id like 007 keeps its zeros. White space around a cell does not belong to it.
    """
    if kind == "parquet":
        table = Table(pl.scan_parquet(file.path, glob=False, hive_partitioning=False).with_row_index(ROW))
        yield table, table.problems(where)
    elif kind == "pairs":
        yield _open_pairs(file.path, where, reading)
    else:
        with tempfile.TemporaryDirectory(prefix="fans-") as folder:
            yield _open_delimited(file.path, kind, where, reading, Path(folder) / "repaired")


def _open_delimited(path: Path, kind: str, where: str, reading: Reading, copy: Path) -> tuple[Table, Problems]:
    first = first_line(path, where)
    separator = reading.separator or detect_separator(first, "\t" if kind == "tsv" else ",")
    dialect = Dialect(separator, quoted=separator != "\t")
    items = headerless_items(first, separator)
    problems = Problems(where)
    frame = _scan(path, dialect, items)
    try:
        # Polars notices malformed rows only when it reads every column.
        frame.select(pl.all().null_count()).collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        repair(path, copy, dialect, problems)
        frame, path = _scan(copy, dialect, items), copy
    names = frame.collect_schema().names()
    frame = frame.with_columns(_cleaned(name, reading.null_values) for name in names).with_row_index(ROW)
    lines = partial(lines_of_rows, path, dialect, items is None)
    allow_long_fields()
    header = next(csv.reader([first], **dialect.reader), []) if items is None else []
    notes = repeated([name.strip() for name in header])
    return Table(frame, typed=False, lines=lines, notes=tuple(notes)), problems


def _scan(path: Path, dialect: Dialect, items: int | None) -> pl.LazyFrame:
    """Return a file of text columns; `items` is the column of lists in a file without a header."""
    quote = '"' if dialect.quoted else None
    table = pl.scan_csv(
        path, separator=dialect.separator, quote_char=quote, infer_schema=False, has_header=items is None, glob=False
    )
    names = table.collect_schema().names()
    if items is not None:
        return table.rename({names[items]: "items"})
    stripped = [name.strip() for name in names]
    return table.rename(dict(zip(names, stripped, strict=True))) if len({*stripped}) == len(names) else table


def _cleaned(name: str, null_values: Sequence[str]) -> pl.Expr:
    """Return a text column without surrounding white space, null where it is empty or one of the null values."""
    text = pl.col(name).str.strip_chars()
    return pl.when(~text.is_in(["", *null_values])).then(text).alias(name)


def _open_pairs(path: Path, where: str, reading: Reading) -> tuple[Table, Problems]:
    """Return the pairs of a file with `LIST ITEM` on every line, separated by white space."""
    frame = pl.scan_csv(
        path, separator="\x01", quote_char=None, infer_schema=False, has_header=False, new_columns=["line"], glob=False
    ).with_row_index(ROW)
    frame = frame.filter(pl.col("line").str.contains(r"\S"))
    problems = Problems(where)
    bad = frame.filter(~pl.col("line").str.contains(PAIR)).collect(engine="streaming")
    for row, line in bad.iter_rows():
        problems.add(NOT_PAIR, row + 1, line)
    names = {1: "list_id", 2: "item_id"}
    pairs = [pl.col("line").str.extract(PAIR, group).alias(name) for group, name in names.items()]
    frame = frame.filter(pl.col("line").str.contains(PAIR)).select(ROW, *pairs)
    frame = frame.with_columns(_cleaned(name, reading.null_values) for name in names.values())
    return Table(frame, typed=False, lines=_row_numbers), problems


def json_rows(path: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line and the object of every line of a JSON lines file that is not blank; note lines without one."""
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                json.dumps(row, ensure_ascii=False).encode() if "\\u" in line else None
            except (ValueError, RecursionError):
                problems.add(NOT_JSON, number, line.strip())
                continue
            if isinstance(row, dict):
                yield number, row
            else:
                problems.add(NOT_OBJECT, number, line.strip())


def is_dataframe(source: object) -> TypeGuard[Any]:
    """Return whether `source` is a polars or pandas table; pandas is recognized by name, as it may not be installed."""
    kind = type(source)
    return isinstance(source, pl.DataFrame | pl.LazyFrame) or (
        kind.__name__ == "DataFrame" and kind.__module__.split(".")[0] == "pandas"
    )


def from_dataframe(source: Any) -> pl.LazyFrame:
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        return source.lazy()
    try:
        table: pl.DataFrame = pl.from_pandas(source)
    except (TypeError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).strip().splitlines()[0]
        raise BadInput(f"the dataframe has a column of mixed types ({reason}); give each column one type") from error
    return table.lazy()
