"""Which columns of a table are used, what orders the items of its lists, and what the user should know about it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from fansrec.data.columns import (
    ITEM_NAMES,
    ITEMS_NAMES,
    LIST_NAMES,
    OWN_TITLE_NAMES,
    POSITION_NAMES,
    TIME_NAMES,
    TITLE_NAMES,
    Columns,
    find,
    find_all,
    id_columns,
    items_column,
    likely,
    normalized,
    required,
)  # fmt: skip
from fansrec.data.reading import Reading
from fansrec.data.tables import Table
from fansrec.data.times import Times, is_time_type, measure_times
from fansrec.errors import BadInput

# Numbers in columns with these names are often durations or years: they count as times only if they look like it.
AMBIGUOUS = ("time", "date", "created", "added")


@dataclass(frozen=True)
class Layout:
    """The columns that a table is read by."""

    list: str | None = None
    item: str | None = None
    items: str | None = None  # of whole lists
    order: Literal["position", "time"] | None = None  # what orders the items of a list; None: the rows
    position: str | None = None
    time: str | None = None
    times: Times | None = None
    title: str | None = None  # of lists
    notes: tuple[str, ...] = field(default=(), compare=False)

    def describe(self) -> str:
        """Return the line of the report that says which columns were chosen."""
        roles = {"items": self.items, "list": self.list, "title": self.title, "item": self.item}
        used = [f"{role} {name!r}" for role, name in roles.items() if name]
        held = f" ({self.times.kind}, {self.times.range})" if self.times else ""
        time = f"time {self.time!r}{held}" if self.time else ""
        if time and self.order != "time":
            used.append(time)
        if self.items:
            how = "each row is a list in its own order"
        elif self.order == "position":
            how = f"ordered by position {self.position!r}, equal positions by row"
        else:
            how = f"ordered by {time}, equal times by row" if self.order else "in the order of the rows"
        return f"columns: {', '.join(used)}; {how}"

    @property
    def summary(self) -> dict[str, str | None]:
        """The chosen columns, for summary.json."""
        roles = ("list", "title", "item", "items", "position", "time")
        return {role: name for role in roles if (name := getattr(self, role))} | {"ordered_by": self.order or "rows"}


def layout_of(table: Table, where: str, reading: Reading) -> Layout:
    """Choose the columns of a table: those the user names, else those with well-known names and fitting types."""
    names, columns = table.names, reading.columns
    if reading.split_by is not None:
        required(names, reading.split_by, "--split-by", where)
    items = items_column(names, columns, where) or _array_column(table, columns)
    if items is not None:
        return _wide_layout(table, items, where, reading)
    list_name, item_name = id_columns(names, columns, where)
    left = [name for name in names if name not in (list_name, item_name)]
    notes = [*table.notes]
    position = _position(table, left, where, reading, notes)
    time, times = None, None
    if reading.list_time or (position is None and reading.order in ("auto", "time")):
        time, times = _time(table, left, where, reading, notes)
    order: Literal["position", "time"] | None = "position" if position else None
    if position is None and time is not None and reading.order != "file":
        order = "time"
    notes += _unused_times(table, left, order, reading) + _unused_ids(names, list_name, item_name)
    title = find([name for name in left if name not in (position, time)], TITLE_NAMES)
    return Layout(list_name, item_name, None, order, position, time, times, title, tuple(notes))


def _array_column(table: Table, columns: Columns) -> str | None:
    """Return a column of arrays with a well-known name: it cannot be a count, whatever else the table has."""
    if any((columns.list, columns.item, columns.position)):
        return None
    schema = table.frame.collect_schema()
    return next((name for name in find_all(table.names, ITEMS_NAMES) if isinstance(schema[name], pl.List)), None)


def _wide_layout(table: Table, items: str, where: str, reading: Reading) -> Layout:
    if reading.order in ("position", "time"):
        raise BadInput(
            f"{where}: each row is a whole list in column {items!r}, so --order {reading.order} cannot order "
            "its items; leave out --order"
        )
    left, notes = [name for name in table.names if name != items], [*table.notes]
    time, times = _time(table, left, where, reading, notes) if reading.list_time else (None, None)
    id_, title = own_names(left, reading.columns)
    return Layout(id_, None, items, None, None, time, times, title, tuple(notes))


def own_names(names: Iterable[str], columns: Columns) -> tuple[str | None, str | None]:
    """Return the columns or keys of the id and the title of lists that have a row of their own."""
    names = list(names)
    id_ = columns.list or ("id" if "id" in names else find(names, LIST_NAMES))
    return id_, find([name for name in names if name != id_], OWN_TITLE_NAMES)


def missing_time(where: str, names: Sequence[str], reason: str = "") -> BadInput:
    """Return the error for a source of which every list needs a time."""
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return BadInput(
        f"{where}: --split time needs a time for every list, and {reason or 'there is no column of times'} "
        f"(columns: {shown}); name it with --time-column, or choose another --split"
    )


def _position(table: Table, names: Sequence[str], where: str, reading: Reading, notes: list[str]) -> str | None:
    if reading.order in ("time", "file"):
        return None
    schema = table.frame.collect_schema()
    if reading.columns.position is not None:
        name = required(table.names, reading.columns.position, "--position-column", where)
        if not is_time_type(schema[name]):
            raise BadInput(f"{where}: column {name!r} holds {schema[name]}; positions must be whole numbers")
        return name
    for name in find_all(names, POSITION_NAMES):
        if name == reading.columns.time:
            continue
        if _holds_positions(table, name, schema[name]):
            return name
        notes.append(f"column {name!r} was not used for the order: its values are not whole numbers")
    if reading.order == "position":
        raise BadInput(f"{where}: --order position needs a column of positions; name it with --position-column")
    return None


def _holds_positions(table: Table, name: str, dtype: pl.DataType) -> bool:
    """Return whether at least half of the rows have a position; the others are reported later."""
    if dtype != pl.String:
        return dtype.is_numeric()
    whole = whole_numbers(name).count().alias("whole")
    found = table.frame.select(whole, pl.len().alias("rows")).collect(engine="streaming").row(0, named=True)
    return bool(found["whole"]) and 2 * int(found["whole"]) >= int(found["rows"])


def whole_numbers(name: str) -> pl.Expr:
    """Return a text column as whole numbers (1.0 is one), null for other text."""
    number = pl.col(name).str.strip_chars().cast(pl.Float64, strict=False)
    return pl.when(number == number.floor()).then(number.cast(pl.Int64, strict=False))


def _time(
    table: Table, names: Sequence[str], where: str, reading: Reading, notes: list[str]
) -> tuple[str | None, Times | None]:
    """Return the column of times and what it holds."""
    schema = table.frame.collect_schema()
    if reading.columns.time is not None:
        name = required(table.names, reading.columns.time, "--time-column", where)
        times = measure_times(table.frame, name) if is_time_type(schema[name]) else None
        if times is None or not times.known:
            example = table.frame.select(pl.col(name).drop_nulls().first()).collect().item()
            raise BadInput(
                f"{where}: column {name!r} holds no times ({example!r:.40} is neither a number, a date nor ISO 8601 "
                "text such as 2026-01-31T20:15); correct it, or choose another --time-column"
            )
        return name, times
    for name in find_all(names, TIME_NAMES):
        times = measure_times(table.frame, name) if is_time_type(schema[name]) else None
        problem = _unsuitable(name, times)
        if problem is None:
            return name, times
        notes.append(f"column {name!r} was not used as time: {problem}")
    if reading.list_time:
        raise missing_time(where, table.names, "; ".join(notes))
    if reading.order == "time":
        raise BadInput(f"{where}: --order time needs a column of times; name it with --time-column")
    return None, None


def _unsuitable(name: str, times: Times | None) -> str | None:
    if times is None or 2 * times.known < times.rows or not times.known:
        return "most of its values are neither numbers, dates nor ISO 8601 text"
    if not times.plausible and normalized(name) in AMBIGUOUS:
        return f"its numbers are not Unix times (they would be {times.range}); to use it, give --time-column {name!r}"
    return None


def _unused_times(table: Table, names: Sequence[str], order: str | None, reading: Reading) -> list[str]:
    """Return hints at columns of times that do not order the lists."""
    known = find_all(names, TIME_NAMES)
    if order == "position" and known and reading.order == "auto":
        return [f"column {known[0]!r} does not order the lists, since positions do; to change that, give --order time"]
    if order is not None or reading.order == "file":
        return []
    schema = table.frame.collect_schema()
    by_type = [name for name in names if schema[name] == pl.Date or isinstance(schema[name], pl.Datetime)]
    unknown = [name for name in (*by_type, *likely(names, "time")) if name not in known]
    return [
        f"column {name!r} may hold times; to order the lists by it, give --time-column {name!r}"
        for name in dict.fromkeys(unknown)
    ]


def _unused_ids(names: Sequence[str], list_name: str, item_name: str) -> list[str]:
    """Return hints at other columns that could have been the lists or the items."""
    hints = []
    for flag, known, chosen in (("--list-column", LIST_NAMES, list_name), ("--item-column", ITEM_NAMES, item_name)):
        others = [name for name in find_all(names, known) if name not in (list_name, item_name)]
        if others and chosen in find_all(names, known):
            shown = ", ".join(map(repr, others[:3]))
            hints.append(f"{shown} not used, since {chosen!r} comes first; to change that, give {flag} {others[0]!r}")
    return hints
