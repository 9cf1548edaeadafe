"""Options of commands that read tables of lists and items: their rows and columns."""

from functools import partial
from typing import Annotated, Literal

import typer

from fansrec.data.columns import (
    DETAIL_NAMES,
    ITEM_NAMES,
    ITEMS_NAMES,
    LIST_NAMES,
    POSITION_NAMES,
    TIME_NAMES,
)  # fmt: skip
from fansrec.data.settings import NULL_VALUES, Order

ORDER = "What orders the items of a list; auto: a column of positions, else of times, else the rows"
BAD_ROWS = (
    "Refuse a file with rows that cannot be used, or leave them out; either way all problems are reported at once"
)
NULLS = 'Texts that mean "missing" in text files, separated by commas; empty cells always do'

rows_option, column_option, detail_option = (
    partial(typer.Option, rich_help_panel=panel)
    for panel in (
        "Rows", "Columns of the lists (recognized by these names, in any spelling)",
        "Columns of the items file (recognized by these names, in any spelling)",
    )
)  # fmt: skip


def _column(what: str, names: tuple[str, ...]) -> str:
    return f"Column of {what}: {', '.join(names)}"


ListOrder = Annotated[Order, rows_option(help=ORDER)]
OnBadRow = Annotated[Literal["error", "skip"], rows_option(help=BAD_ROWS)]
Separator = Annotated[
    str | None, rows_option(help="comma, semicolon, tab, pipe or a character", show_default="detected")
]
NullValues = Annotated[str | None, rows_option(help=NULLS, show_default=",".join(NULL_VALUES))]
ListColumn = Annotated[str | None, column_option(help=_column("list ids", LIST_NAMES))]
ItemColumn = Annotated[str | None, column_option(help=_column("item ids", ITEM_NAMES))]
PositionColumn = Annotated[str | None, column_option(help=_column("positions", POSITION_NAMES))]
TimeColumn = Annotated[str | None, column_option(help=_column("times", TIME_NAMES))]
ItemsColumn = Annotated[str | None, column_option(help=_column("whole lists, if each row is a list", ITEMS_NAMES))]
NameColumn = Annotated[str | None, detail_option(help=_column("names", DETAIL_NAMES["name"]))]
GroupColumn = Annotated[str | None, detail_option(help=_column("groups", DETAIL_NAMES["group"]))]
CategoryColumn = Annotated[str | None, detail_option(help=_column("categories", DETAIL_NAMES["category"]))]
DateColumn = Annotated[str | None, detail_option(help=_column("dates", DETAIL_NAMES["date"]))]


def split_null_values(text: str | None) -> tuple[str, ...] | None:
    """Return the values of `--null-values`."""
    return None if text is None else tuple(one.strip() for one in text.split(","))
