"""File formats: tabular files and dataframes as polars tables, JSON lines as dictionaries."""

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeGuard

import polars as pl

from fansrec.data.decompression import PlainFile, check_utf8
from fansrec.errors import BadInput

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


def format_of(file: PlainFile, where: str) -> str:
    """Return csv, tsv, parquet, jsonl or pairs: by the file name, or by the first line of a .txt file."""
    known = SUFFIXES.get(Path(file.name).suffix.lower())
    if known is None:
        raise BadInput(
            f"{where}: {file.name} has an unknown extension; supported are {', '.join(SUFFIXES)}, also with .gz or .zip"
        )
    if known == "parquet":
        return known
    check_utf8(file.path, where)
    first = first_line(file.path, where)
    return _text_format(first) if known == "text" else known


def _text_format(line: str) -> str:
    if "\t" in line and (len(line.split()) != 2 or line.split("\t")[1].startswith("[")):
        return "tsv"
    return "csv" if "," in line and len(line.split()) != 2 else "pairs"


def first_line(path: Path, where: str) -> str:
    with path.open(encoding="utf-8-sig") as file:
        for line in file:
            if line.strip():
                return line.rstrip("\n")
    raise BadInput(f"{where} is empty; give a file that contains lists")


@contextmanager
def readable(where: str) -> Iterator[None]:
    """Turn a polars error about a damaged file into BadInput. Polars reads lazily: wrap the whole reading."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise BadInput(f"{where} cannot be read ({reason}); check that the file is complete") from error


def scan(file: PlainFile, kind: str, where: str) -> pl.LazyFrame:
    """Return a tabular file as a table; text columns stay text, so that an id like 007 keeps its zeros."""
    if kind == "parquet":
        return pl.scan_parquet(file.path, glob=False, hive_partitioning=False)
    if kind == "pairs":
        return _scan_pairs(file.path, where)
    separator, quote = ("\t", None) if kind == "tsv" else (",", '"')
    items = _headerless_items(first_line(file.path, where), separator)
    table = pl.scan_csv(
        file.path, separator=separator, quote_char=quote, infer_schema=False, has_header=items is None, glob=False
    )
    _refuse_long_rows(table, file.path, separator, where)
    return table if items is None else table.rename({table.collect_schema().names()[items]: "items"})


def _refuse_long_rows(table: pl.LazyFrame, path: Path, separator: str, where: str) -> None:
    """Read every column once: polars accepts rows with too many fields if only some columns are selected."""
    try:
        table.select(pl.all().null_count()).collect(engine="streaming")
    except pl.exceptions.ComputeError as error:
        if "more fields" not in str(error):
            raise
        line = _first_long_row(path, separator)
        raise BadInput(f"{where}: line {line} has more fields than the first; quote or remove them") from error


def _first_long_row(path: Path, separator: str) -> int:
    """Return the line number of the first row with more fields than the header."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        is_tsv = separator == "\t"
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if is_tsv else csv.reader(file)
        width = len(next(rows))
        return next((rows.line_num for row in rows if len(row) > width), 1)


def _headerless_items(line: str, separator: str) -> int | None:
    """Return the column of the JSON array if the first line has one and so is not a header, else None."""
    cells = line.split(separator)
    return next((index for index, cell in enumerate(cells) if cell.lstrip('" ').startswith("[")), None)


def _scan_pairs(path: Path, where: str) -> pl.LazyFrame:
    """Return the pairs of a file with `LIST ITEM` on every line, separated by white space."""
    lines = pl.scan_csv(
        path, separator="\x01", quote_char=None, infer_schema=False, has_header=False, new_columns=["line"], glob=False
    ).with_row_index("index")
    lines = lines.filter(pl.col("line").str.contains(r"\S"))
    invalid = lines.filter(~pl.col("line").str.contains(PAIR)).head(1).collect(engine="streaming")
    if invalid.height:
        index, line = invalid.row(0)
        raise BadInput(f"{where}: line {index + 1}: {line!r:.80} is not a pair of a list id and an item id; correct it")
    return lines.select(
        pl.col("line").str.extract(PAIR, 1).alias("list_id"), pl.col("line").str.extract(PAIR, 2).alias("item_id")
    )


def json_rows(path: Path, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a JSON lines file, each with its location for messages; skip blank lines."""
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            location = f"{where}: line {number}"
            try:
                row = json.loads(line)
                json.dumps(row, ensure_ascii=False).encode() if "\\u" in line else None
            except (ValueError, RecursionError) as error:
                raise BadInput(f"{location} is not JSON ({error}); put one object on every line") from error
            if not isinstance(row, dict):
                raise BadInput(f"{location} is not a JSON object; put one object on every line")
            yield location, row


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
