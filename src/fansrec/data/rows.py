"""Tables with one row per item: the rows as list, item, position, time and group, without those that are unusable."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from fansrec.data.indexing import too_long
from fansrec.data.layout import Layout, whole_numbers
from fansrec.data.problems import BAD_POSITION, BAD_TIME, EXAMPLES, LONG_LIST, NO_ITEM, NO_LIST, Problems
from fansrec.data.tables import ROW, Table
from fansrec.data.times import microseconds
from fansrec.errors import BadInput

KINDS = (NO_LIST, NO_ITEM, BAD_POSITION, BAD_TIME)
BLANK = -1  # a blank line of a text file, which is not a row


def long_rows(table: Table, layout: Layout, where: str, split_by: str | None, list_time: bool) -> pl.LazyFrame:
    """Return the columns row, list, id (that of the list), item and, where they are used, position, time, group, title.

    `position` is the key to sort by: the position, or the time if that orders the lists.
    """
    assert layout.list is not None and layout.item is not None
    schema = table.frame.collect_schema()
    check_id_type(schema[layout.item], layout.item, where)
    selected = [id_column(schema, layout.list).alias("list"), id_column(schema, layout.item).alias("item")]
    if layout.order == "position" and layout.position is not None:
        selected.append(_position(schema, layout.position).alias("position"))
    elif layout.order == "time":
        selected.append(_time_key(schema, layout).alias("position"))
    selected.append(pl.col(layout.list).alias("id"))
    if layout.title is not None:
        selected.append(pl.col(layout.title).cast(pl.String).alias("title"))
    if list_time:
        selected.append(time_column(schema, layout).alias("time"))
    if split_by is not None:
        selected.append(pl.col(split_by).alias("group"))
    blank = [] if table.typed else [pl.all_horizontal(pl.col(table.names).is_null()).alias("blank")]
    return table.frame.select(pl.col(ROW).alias("row"), *selected, *blank)


def usable_rows(rows: pl.LazyFrame, table: Table, layout: Layout, problems: Problems) -> pl.LazyFrame:
    """Return the rows without those that have a problem, each of which is noted once."""
    names = rows.collect_schema().names()
    kind = pl.when(pl.col("list").is_null()).then(0).when(pl.col("item").is_null()).then(1)
    if "position" in names:
        kind = kind.when(pl.col("position").is_null()).then(3 if layout.order == "time" else 2)
    if "time" in names:
        kind = kind.when(pl.col("time").is_null()).then(3)
    problem = kind.cast(pl.Int8)
    if "blank" in names:
        problem = pl.when(pl.col("blank")).then(pl.lit(BLANK, pl.Int8)).otherwise(problem)
        rows = rows.with_columns(problem.alias("problem")).drop("blank")
    else:
        rows = rows.with_columns(problem.alias("problem"))
    found = (
        rows.filter(pl.col("problem").is_not_null())
        .group_by("problem")
        .agg(pl.len(), pl.col("row").bottom_k(EXAMPLES))
        .sort("problem")
        .collect(engine="streaming")
    )
    for problem_index, count, examples in found.iter_rows():
        if problem_index != BLANK:
            _note(problems, table, layout, KINDS[problem_index], count, sorted(set(examples)))
    if layout.order and (BAD_POSITION in problems.counts or BAD_TIME in problems.counts):
        problems.advice = f"; --order file ignores the {layout.order}s"
    table.locate(problems, KINDS)
    return rows.filter(pl.col("problem").is_null()).drop("problem") if found.height else rows.drop("problem")


def without_long_lists(rows: pl.LazyFrame, table: Table, most: int, problems: Problems) -> pl.LazyFrame:
    """Return the rows without those of lists of more than `most` items, each of which is noted at its first row."""
    lists = rows.group_by("list").agg(pl.len().alias("length"), pl.col("row").min())
    found = lists.filter(pl.col("length") > most).sort("row").collect(engine="streaming")
    for length, row in found.select("length", "row").iter_rows():
        problems.add(LONG_LIST, row, too_long(length, most))
    table.locate(problems, [LONG_LIST])
    return rows.join(found.lazy(), on="list", how="anti", maintain_order="left") if found.height else rows


def _note(problems: Problems, table: Table, layout: Layout, kind: str, count: int, examples: Sequence[int]) -> None:
    """Note the problems of a kind, with the values of a position or a time."""
    column = {BAD_POSITION: layout.position, BAD_TIME: layout.time}.get(kind)
    values: dict[int, str | None] = {}
    if column is not None:
        shown = table.frame.filter(pl.col(ROW).is_in(list(examples))).select(ROW, pl.col(column).cast(pl.String))
        values = dict(shown.collect().iter_rows())
    for place, row in enumerate(examples):
        value = values.get(row)
        text = "" if value is None else repr(value)
        problems.add(kind, row, text, count - len(examples) + 1 if place == 0 else 1)


def id_column(schema: pl.Schema, name: str) -> pl.Expr:
    """Return a column of ids in which an empty string counts as missing."""
    column = pl.col(name)
    if schema[name] in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    elif schema[name] != pl.String:
        return column
    return pl.when(column != "").then(column)


def time_column(schema: pl.Schema, layout: Layout) -> pl.Expr:
    """Return the times as microseconds since 1970."""
    assert layout.time is not None and layout.times is not None
    return microseconds(layout.time, schema[layout.time], layout.times.scale)


def check_id_type(dtype: Any, name: str, where: str) -> None:
    if not (dtype.is_integer() or dtype in (pl.String, pl.Categorical, pl.Enum)):
        raise BadInput(f"{where}: column {name!r} holds {dtype}; item ids must be text or whole numbers")


def _position(schema: pl.Schema, name: str) -> pl.Expr:
    """Return a column to sort by; text that is not a whole number (1.0 is one) becomes null."""
    return whole_numbers(name) if schema[name] == pl.String else _physical(schema, name)


def _time_key(schema: pl.Schema, layout: Layout) -> pl.Expr:
    """Return times to sort by, numbers as they are: their unit does not matter."""
    assert layout.time is not None
    return time_column(schema, layout) if schema[layout.time] == pl.String else _physical(schema, layout.time)


def _physical(schema: pl.Schema, name: str) -> pl.Expr:
    column = pl.col(name).to_physical()
    return column.fill_nan(None) if schema[name].is_float() else column
