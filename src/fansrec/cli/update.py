"""`fans update`: a trained model with new lists and items, without training."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich import box
from rich.table import Table

from fansrec.cli.options import Force, Run, path_option
from fansrec.cli.progress_bars import StageBar
from fansrec.cli.table_options import (
    CategoryColumn,
    DateColumn,
    GroupColumn,
    ItemColumn,
    ItemsColumn,
    ListColumn,
    ListOrder,
    NameColumn,
    NullValues,
    OnBadRow,
    PositionColumn,
    Separator,
    TimeColumn,
    split_null_values,
)  # fmt: skip
from fansrec.cli.terminal import Terminal, echo_json
from fansrec.data.settings import Preparation
from fansrec.printable import counted

if TYPE_CHECKING:
    from fansrec.updating.report import Report

DEFAULT = Preparation()
LISTS = "File of new lists (csv, tsv, parquet, jsonl, txt; also .gz, .zip); one with the id of a known list replaces it"
ITEMS = "File with the columns item, name, group, category and date, of new or known items"
REMOVE = "File of ids of lists to remove: a .txt file with one id a line, or a table with a column of list ids"
KEEP_NEWEST = "Keep only that many lists, the newest"
JSON = "Print the report as JSON; lines on what was read go to stderr"
SHOWN_IDS = 5  # of unknown lists


def update(
    run: Run,
    out: Annotated[Path, path_option(help="Folder for the updated model")],
    lists: Annotated[Path | None, path_option(help=LISTS)] = None,
    items: Annotated[Path | None, path_option(help=ITEMS)] = None,
    remove: Annotated[Path | None, path_option(help=REMOVE)] = None,
    keep_newest: Annotated[int | None, typer.Option(min=1, help=KEEP_NEWEST)] = None,
    json: Annotated[bool, typer.Option("--json", help=JSON)] = False,
    force: Force = False,
    order: ListOrder = DEFAULT.order,
    on_bad_row: OnBadRow = DEFAULT.on_bad_row,
    separator: Separator = None,
    null_values: NullValues = None,
    list_column: ListColumn = None,
    item_column: ItemColumn = None,
    position_column: PositionColumn = None,
    time_column: TimeColumn = None,
    items_column: ItemsColumn = None,
    name_column: NameColumn = None,
    group_column: GroupColumn = None,
    category_column: CategoryColumn = None,
    date_column: DateColumn = None,
) -> None:
    """Add, replace or remove lists and items of a trained model, without training.

    Example: `fans update runs/mine --lists new.csv --items songs.csv --out runs/mine-2`

    Lists enter the list memory of the model as they are. New items can be given and recommended at once, also if they
    are only in --items. The network stays as it is until the next training: `fans train --start`.

    Files are read as by `fans prepare`, but items are not filtered and lists are not cut. A list that is in --lists and
    in --remove is removed. Ids in --remove that the model does not have are reported and change nothing. The model has
    to have a list memory: `--recipe best` or `--model vstan`.

    Guide: docs/how-to/update-a-model.md
    """
    from fansrec.updating.interface import update as run_update

    console = Terminal(stderr=json)
    with StageBar(console, "reading") as bar:

        def say(line: str) -> None:
            console.say(line)
            if line.startswith("read:"):
                bar.stage("updating")

        report = run_update(
            run,
            out,
            lists=lists,
            items=items,
            remove=remove,
            keep_newest=keep_newest,
            force=force,
            order=order,
            on_bad_row=on_bad_row,
            separator=separator,
            null_values=split_null_values(null_values),
            list_column=list_column,
            item_column=item_column,
            position_column=position_column,
            time_column=time_column,
            items_column=items_column,
            name_column=name_column,
            group_column=group_column,
            category_column=category_column,
            date_column=date_column,
            report=say,
        )
    if json:
        echo_json(asdict(report))
    else:
        _print(console, report)


def _print(console: Terminal, report: "Report") -> None:
    """Print what changed: numbers of lists and items, the parts of the model, and notes."""
    lists = (report.lists_before, report.lists_added, report.lists_replaced, report.lists_removed, report.lists_dropped)
    items = (report.items_before, report.items_added, None, report.items_removed, None)
    columns = ("before", "added", "replaced", "removed", "dropped", "described", "after")
    counts = _table("", *columns, justify="right")
    for what, numbers in (
        ("lists", (*lists, None, report.lists)),
        ("items", (*items, report.items_described, report.items)),
    ):
        counts.add_row(what, *("" if number is None else f"{number:,}" for number in numbers))
    parts = _table("part", "", "what")
    for name, what in report.parts_updated.items():
        parts.add_row(name, "updated", what)
    for name, why in report.parts_kept.items():
        parts.add_row(name, "kept", why)
    console.print(counts, parts)
    for note in (*report.notes, *_unknown_lists(report.unknown_lists)):
        console.say(f"note: {note}")


def _table(first: str, *columns: str, justify: Literal["left", "right"] = "left") -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for column in columns:
        table.add_column(column, justify=justify)
    return table


def _unknown_lists(ids: tuple[str, ...]) -> list[str]:
    shown = ", ".join(map(repr, ids[:SHOWN_IDS])) + (", …" if len(ids) > SHOWN_IDS else "")
    found = counted(len(ids), "list to remove is", "lists to remove are")
    return [f"{found} not in the model: {shown}"] if ids else []
