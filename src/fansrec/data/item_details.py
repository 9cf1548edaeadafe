"""The items file: name, group (an artist, an author), the user's own category and date of each item."""

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from fansrec.data.columns import DETAIL_NAMES, ID_NAMES, find, likely, required
from fansrec.data.decompression import decompressed
from fansrec.data.item_dates import iso_dates
from fansrec.data.problems import NO_ITEM, Problems
from fansrec.data.reading import Reading
from fansrec.data.tables import ROW, Table, format_of, from_dataframe, is_dataframe, json_rows, open_table, readable
from fansrec.errors import BadInput
from fansrec.vocabulary import GROUP, is_group_name

TWICE = "with an item that occurs before with other details"
FLAGS = {"name": "--name-column", "group": "--group-column", "category": "--category-column", "date": "--date-column"}


@dataclass(frozen=True)
class ItemDetails:
    """Details by item id; an item without a detail has no entry."""

    names: dict[str, str] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    categories: dict[str, str] = field(default_factory=dict)
    group_name: str = GROUP
    """The word for groups: the name of their column."""
    dates: dict[str, str] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    """The items of the source that were read, with or without details."""


def group_word(column: str | None) -> str:
    """Return the word for groups that the name of their column contains: artist for `Artist_Name`."""
    words = re.findall(r"[^\W_]+", (column or GROUP).lower())
    word = next((word for word in reversed(words) if word not in ("name", "id")), GROUP)
    return word if is_group_name(word) else GROUP


def read_details(
    source: Any,
    ids: Collection[str] | None,
    reading: Reading = Reading(),  # noqa: B008
    report: Callable[[str], None] = lambda _: None,
    group_name: str | None = None,
) -> ItemDetails:
    """Return the details of the items `ids` from a csv, tsv, parquet or jsonl file, or from a dataframe; None: all."""
    where = "the items dataframe" if is_dataframe(source) else str(source)
    with readable(where), open_rows(source, where, reading) as (table, problems):
        columns = _columns(table, where, reading)
        for line in _choices(table, columns, where):
            report(line)
        details = _details(table, columns, None if ids is None else set(ids), problems)
        if details is not None and columns["date"] is not None:
            details = _with_dates(details, columns["date"], where, reading, report)
        for line in reading.settle(problems):
            report(line)
    if details is None:
        wanted = "no items" if ids is None else "none of the items in the lists"
        raise BadInput(
            f"{where} contains {wanted}; check {'its rows' if ids is None else 'that both use the same ids'}"
        )
    return replace(details, group_name=group_name or group_word(columns["group"]))


@contextmanager
def open_rows(source: Any, where: str, reading: Reading, content: str = "items") -> Iterator[tuple[Table, Problems]]:
    """Yield the table of a file or a dataframe, and its malformed rows."""
    if is_dataframe(source):
        table = Table(from_dataframe(source).with_row_index(ROW))
        yield table, table.problems(where)
        return
    with decompressed(Path(source), content) as file:
        kind = format_of(file, where, reading.separator, content)
        if kind == "jsonl":
            problems = Problems(where)
            yield _json_table(file.path, problems), problems
            return
        with open_table(file, kind, where, reading) as opened:
            yield opened


def _json_table(path: Path, problems: Problems) -> Table:
    """Return the values of all keys as text."""
    rows = list(json_rows(path, problems))
    names = list(dict.fromkeys(name for _, row in rows for name in row))
    texts = [{name: str(value) for name, value in row.items() if value is not None} for _, row in rows]
    columns = {name: pl.Series(name, [row.get(name) for row in texts], dtype=pl.String) for name in names}
    numbers = pl.Series(ROW, [number for number, _ in rows], dtype=pl.UInt32)
    return Table(pl.LazyFrame({**columns, ROW: numbers}), lines=lambda rows: {row: row for row in rows})


def _columns(table: Table, where: str, reading: Reading) -> dict[str, str | None]:
    """Return the columns of the id, the name, the group, the category and the date, None where there is none."""
    names, given = table.names, reading.columns
    own = given.item if given.item is not None and find(names, [given.item]) else None
    id_name = required(names, own, "--item-column", where) if own else find(names, ID_NAMES)
    if id_name is None:
        raise BadInput(
            f"{where}: there is no column item or id (columns: {', '.join(names[:12])}); rename the column of "
            "item ids, or name it with --item-column"
        )
    chosen: dict[str, str | None] = {"id": id_name}
    for detail, flag in FLAGS.items():
        column = getattr(given, detail)
        others = [name for name in names if name not in chosen.values()]
        chosen[detail] = required(names, column, flag, where) if column else find(others, DETAIL_NAMES[detail])
    return chosen


def _choices(table: Table, columns: dict[str, str | None], where: str) -> list[str]:
    """Return the lines of the report: the chosen columns, and hints at columns that were not recognized."""
    used = [f"{role} {name!r}" for role, name in columns.items() if name]
    missing = [role for role, name in columns.items() if name is None]
    lacking = [role for role in missing if role != "date"]  # few catalogs have dates, and only one rule needs them
    lines = [f"items: {Path(where).name}: {', '.join(used)}" + (f"; no {', no '.join(lacking)}" if lacking else "")]
    for role in missing:
        candidates = [name for name in likely(table.names, role) if name not in columns.values()]
        if candidates:
            lines.append(
                f"note: column {candidates[0]!r} may be the {role}; to use it, give {FLAGS[role]} {candidates[0]!r}"
            )
    return lines


def _details(
    table: Table, columns: dict[str, str | None], ids: set[str] | None, problems: Problems
) -> ItemDetails | None:
    """Return the details of the items `ids`, or of all, the dates as they are in the table, None if there is none.

    Items with two different rows are noted. Dates may differ, because a table with a row for each use of an item often
    has the date of that use; the first one counts.
    """
    selected = [
        (pl.lit(None) if name is None else pl.col(name)).cast(pl.String).alias(role) for role, name in columns.items()
    ]
    rows = table.frame.select(pl.col(ROW).alias("row"), *selected).collect(engine="streaming")
    details = ItemDetails()
    seen: dict[str, tuple[str | None, ...]] = {}
    for row, id_, *values in rows.iter_rows():
        if ids is None and not id_:
            problems.add(NO_ITEM, row)
            continue
        if ids is not None and id_ not in ids:
            continue
        compared = tuple(values[:-1])
        if id_ in seen:
            if seen[id_] != compared:
                problems.add(TWICE, row, repr(id_))
            continue
        seen[id_] = compared
        for kept, value in zip((details.names, details.groups, details.categories, details.dates), values, strict=True):
            if value:
                kept[id_] = value
    table.locate(problems, [TWICE, NO_ITEM])
    return replace(details, ids=tuple(seen)) if seen or problems else None


def _with_dates(
    details: ItemDetails, column: str, where: str, reading: Reading, report: Callable[[str], None]
) -> ItemDetails:
    """Return the details with their dates as ISO 8601 text; those that cannot be read are left out and reported."""
    dates = dict(zip(details.dates, iso_dates([*details.dates.values()]), strict=True))
    read = {id_: date for id_, date in dates.items() if date is not None}
    unread = [details.dates[id_] for id_, date in dates.items() if date is None]
    if len(unread) > len(read) or not read:
        example = f"{unread[0]!r:.40} is neither a year nor" if unread else "there is neither a year nor"
        if reading.columns.date is not None:
            raise BadInput(f"{where}: column {column!r} holds no dates ({example} a date such as 2026-01-31)")
        report(f"note: column {column!r} was not used as the date: {example} a date such as 2026-01-31")
        return replace(details, dates={})
    if unread:
        report(f"note: {len(unread):,} of {len(dates):,} dates in {column!r} cannot be read, such as {unread[0]!r:.40}")
    return replace(details, dates=read)
