"""`fansrec.prepare`: every option of `fans prepare` as a keyword argument."""

import os
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal

from fansrec.data.boundaries import as_boundaries
from fansrec.data.columns import Columns
from fansrec.data.locating import locate_source
from fansrec.data.prepare import prepare as prepare_corpus
from fansrec.data.reporting import default_report
from fansrec.data.settings import Order, Preparation, Split
from fansrec.errors import BadInput, missing_extras

Moment = float | str | date


@missing_extras()
def prepare(
    source: Any,
    out: str | Path,
    *,
    items: Any = None,
    min_item_count: int | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    duplicates: Literal["keep", "drop"] = "keep",
    categories: int | Literal["own"] | None = None,
    categories_from: Literal["train", "all"] = "train",
    split: Split = "random",
    split_by: str | None = None,
    split_at: str | Sequence[Moment] | None = None,
    split_time: Literal["latest", "first"] = "latest",
    seed: int = 0,
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
    group_name: str | None = None,
    force: bool = False,
    report: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Write the corpus of a source to the folder `out`, and return its summary.

    Args:
        source: a file (csv, tsv, parquet, jsonl, txt; also .gz and .zip), the name of a public data set, a polars or
            pandas dataframe, or a list of lists of item ids.
        out: the folder to write.
        items: a file or dataframe with the names, groups, categories and dates of the items.
        min_item_count: items that occur fewer times are dropped. The default of this and the next two is 10, 10 and
            200, or that of a public data set.
        min_length: shorter lists are dropped.
        max_length: longer lists are cut to their first items.
        duplicates: "drop" keeps only the first occurrence of an item in a list.
        categories: number of categories, or "own" for those of `items`; None: own if there are any, else a number
            derived from the number of items.
        categories_from: the lists that categories are learned from.
        split: how lists are divided into train, valid and test.
        split_by: column; lists with the same value in it stay in the same part.
        split_at: where the validation and the test part begin, with split="time": two shares, (0.8, 0.9) by default,
            or two dates.
        split_time: the time of a list of which every item has one.
        seed: the same seed gives a byte-identical corpus.
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
        group_name: what a group is: artist, author, brand; None: the name of its column.
        force: replace a corpus that exists.
        report: called with one line per stage: the chosen columns, what was skipped, sizes. By default they are printed
            in a terminal and in a notebook, and elsewhere logged as `fansrec`, skipped rows as a warning.

    Returns:
        The content of summary.json: numbers of lists, items, interactions and categories, and how lists were split.

    Raises:
        FansError: for anything that is refused; the message names the parameter.

    Examples:
        >>> import fansrec
        >>> summary = fansrec.prepare("playlists.csv", "corpora/prepared")
        >>> summary["lists"], summary["items"], summary["splits"]
        (60, 20, {'train': 48, 'valid': 6, 'test': 6})
    """
    if not isinstance(out, str | os.PathLike):
        raise BadInput(f"--out is {out!r:.80}; give the path of a folder")
    path, items, own = locate_source(source, items)
    preparation = Preparation(
        min_item_count=own.min_item_count if min_item_count is None else min_item_count,
        min_length=own.min_length if min_length is None else min_length,
        max_length=own.max_length if max_length is None else max_length,
        categories=categories,
        categories_from=categories_from,
        split=split,
        split_by=split_by,
        seed=seed,
        group_name=group_name,
        split_at=as_boundaries(split_at),
        split_time=split_time,
        order=order,
        on_bad_row=on_bad_row,
        duplicates=duplicates,
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
    return prepare_corpus(path, out, preparation, items, columns, report or default_report(), force)
