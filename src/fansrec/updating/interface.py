"""`fansrec.update`: every option of `fans update` as a keyword argument."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from fansrec.data.columns import Columns
from fansrec.data.reading import reading_of
from fansrec.data.reporting import default_report
from fansrec.data.settings import Order, Preparation, check
from fansrec.errors import missing_extras
from fansrec.updating.folders import Sources, update_folder
from fansrec.updating.report import Report


@missing_extras()
def update(
    run: str | Path,
    out: str | Path,
    *,
    lists: Any = None,
    items: Any = None,
    remove: Any = None,
    keep_newest: int | None = None,
    order: Order = "auto",
    on_bad_row: Literal["error", "skip"] = "error",
    separator: str | None = None,
    null_values: Sequence[str] | None = None,
    list_column: str | None = None,
    item_column: str | None = None,
    position_column: str | None = None,
    time_column: str | None = None,
    items_column: str | None = None,
    name_column: str | None = None,
    group_column: str | None = None,
    category_column: str | None = None,
    date_column: str | None = None,
    force: bool = False,
    report: Callable[[str], None] | None = None,
) -> Report:
    """Write the model of the folder `run` with new lists and items to the folder `out`; return what changed.

    Nothing is trained. The model has to have a list memory: `fans` with the recipe "best", or vstan.

    Args:
        run: the folder of a trained model, which stays as it is.
        out: the folder to write; it may be `run` with `force`.
        lists: new lists: a file (csv, tsv, parquet, jsonl, txt; also .gz and .zip), a polars or pandas dataframe, or a
            list of lists of item ids. A list with the id of a known one replaces it.
        items: a file or dataframe with names, groups, categories and dates of items, new or known.
        remove: ids of lists to remove: a .txt file with one id a line, a file or dataframe with a column of list ids,
            or a list of ids.
        keep_newest: keep only that many lists, the newest; None: all.
        order: what orders the items of a list; "auto" is a column of positions, else of times, else the rows.
        on_bad_row: "skip" leaves out rows that cannot be used, and reports how many and where.
        separator: of text files; detected by default.
        null_values: texts that mean "missing" in text files, beside empty cells; None: NA, null, None, NaN and others.
        list_column: column of list ids. Columns are recognized by their names if these are well known.
        item_column: column of item ids.
        position_column: column of positions.
        time_column: column of times.
        items_column: column of whole lists, if each row is a list.
        name_column: column of names in `items`.
        group_column: column of groups in `items`, for example artists.
        category_column: column of categories in `items`.
        date_column: column of dates in `items`, when each item appeared; a year is enough.
        force: replace a model that exists.
        report: called with one line for what was read: the chosen columns, what was skipped. By default they are
            printed in a terminal and in a notebook, and elsewhere logged as `fansrec`.

    Returns:
        How many lists and items were added, replaced and removed, and which parts of the model changed.

    Raises:
        FansError: for anything that is refused; the message names the parameter.

    Examples:
        >>> import fansrec
        >>> report = fansrec.update("runs/mine", "runs/updated", lists=[["s1", "s2", "new song"]])
        >>> report.lists_added, report.items_added
        (1, 1)
    """
    preparation = Preparation(
        order=order,
        on_bad_row=on_bad_row,
        separator=separator,
        null_values=None if null_values is None else tuple(null_values),
    )
    columns = Columns(
        list=list_column,
        item=item_column,
        position=position_column,
        items=items_column,
        time=time_column,
        name=name_column,
        group=group_column,
        category=category_column,
        date=date_column,
    )
    check(preparation)
    sources = Sources(lists, items, remove, reading_of(preparation, columns))
    return update_folder(Path(run), Path(out), sources, keep_newest, force, report or default_report())
