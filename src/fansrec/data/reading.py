"""How a source is read: its columns, what orders the items of a list, and what happens to unusable rows and ids."""

from dataclasses import dataclass
from typing import Literal

from fansrec.data.columns import RECOGNIZED, Columns
from fansrec.data.problems import Problems
from fansrec.data.settings import NULL_VALUES, Order, Preparation, separator_of


@dataclass(frozen=True)
class Reading:
    columns: Columns = RECOGNIZED
    split_by: str | None = None
    list_time: Literal["latest", "first"] | None = None
    """The time of a list, None if lists need none."""
    order: Order = "auto"
    skip_bad_rows: bool = False
    separator: str | None = None
    null_values: tuple[str, ...] = NULL_VALUES
    repeated_ids: bool = False
    """Whether lists with the same id keep it; otherwise none keeps its id."""
    most_items: int | None = None
    """A list with more items, or without any, is a bad row; None: lists may have any length."""

    def settle(self, problems: Problems) -> list[str]:
        """Refuse the problems of a source; if bad rows are skipped, return the lines of the report instead."""
        if not problems:
            return []
        if not self.skip_bad_rows:
            problems.refuse()
        return [problems.skipped()]


def reading_of(preparation: Preparation, columns: Columns = RECOGNIZED) -> Reading:
    return Reading(
        columns=columns,
        split_by=preparation.split_by,
        list_time=preparation.split_time if preparation.split == "time" else None,
        order=preparation.order,
        skip_bad_rows=preparation.on_bad_row == "skip",
        separator=None if preparation.separator is None else separator_of(preparation.separator),
        null_values=NULL_VALUES if preparation.null_values is None else tuple(preparation.null_values),
    )
