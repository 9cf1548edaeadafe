"""Three data sets as a new user has them: a messy CSV, a Parquet with times, JSON lines with an items file.

Every list is a walk around a circle of items, so that the order of the items can be checked.
"""

import json
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

ITEMS = 24
START = datetime(2025, 1, 1, tzinfo=UTC)


def walks(lists: int = 80, seed: int = 1) -> list[list[int]]:
    """Return lists of 5 to 9 items: 100, 101, … around a circle."""
    random = np.random.default_rng(seed)
    starts, lengths = random.integers(0, ITEMS, lists).tolist(), random.integers(5, 10, lists).tolist()
    return [[100 + (start + step) % ITEMS for step in range(n)] for start, n in zip(starts, lengths, strict=True)]


def plays(lists: list[list[int]]) -> list[tuple[str, int, datetime]]:
    """Return a row for every item: its list, the item and when it was played; list n is of day n."""
    rows = (
        [(f"s{n}", item, START + timedelta(days=n, minutes=at)) for at, item in enumerate(items)]
        for n, items in enumerate(lists)
    )
    return list(chain.from_iterable(rows))


def shuffled(rows: list[tuple[str, int, datetime]]) -> list[tuple[str, int, datetime]]:
    return [rows[index] for index in np.random.default_rng(2).permutation(len(rows)).tolist()]


# Rows of the CSV that cannot be used, with the message that each belongs to.
BAD_ROWS = {
    "s1;;2025-01-01": "without an item id",
    "s1;NA;2025-01-01": "without an item id",
    ";101;2025-01-01": "without a list id",
    "s2;101;yesterday": "with a time that is missing",
    "s2;101;2025-01-01;a;b;c": "with more fields than the first line",
    's2;101;2025-01-01;"open': "with a quote that is not closed",
}


def write_messy_csv(path: Path, lists: list[list[int]]) -> list[int]:
    """Write a CSV as a spreadsheet does, in shuffled rows; return the lines of BAD_ROWS."""
    rows = [f"{list_}; {item} ;{time:%Y-%m-%d %H:%M:%S};" for list_, item, time in shuffled(plays(lists))]
    rows[3] += '12" remix'
    rows[5] += '"two\r\nlines"'
    rows[7] += '"with; a separator"'
    rows.insert(9, "")
    rows[20:20] = BAD_ROWS
    text = "\ufeff" + "".join(row + "\r\n" for row in ["Session; Track ;Added-At;comment", *rows])
    path.write_bytes(text.encode())
    lines = text.split("\n")
    return [next(number for number, line in enumerate(lines, start=1) if line == f"{row}\r") for row in BAD_ROWS]


def write_parquet(path: Path, lists: list[list[int]]) -> None:
    """Write shuffled rows with times; the ids are text that looks like numbers."""
    table = pl.DataFrame(shuffled(plays(lists)), schema=["session_id", "product", "timestamp"], orient="row")
    table.with_columns(pl.col("product").cast(pl.String)).write_parquet(path)


def write_json_lines(path: Path, items: Path, lists: list[list[int]]) -> None:
    """Write lists with a time each, whose ids are integers and a few texts, and a file with the names of the items."""
    mixed = [[f"item {item}" if item % 6 == 0 else item for item in row] for row in lists]
    times = [int((START + timedelta(days=n)).timestamp() * 1000) for n in range(len(lists))]
    rows = ({"id": n, "created_at": times[n], "tracks": row} for n, row in enumerate(mixed))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ids = sorted({item for row in mixed for item in row}, key=str)
    details = ({"Track": id_, "Track Name": f"Song {id_}", "Lead Singer": f"S{n % 4}"} for n, id_ in enumerate(ids))
    items.write_text("".join(json.dumps(row) + "\n" for row in details))
