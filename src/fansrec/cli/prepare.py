"""`fans prepare`: a corpus from a file of lists."""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from fansrec.cli.options import Address, Engine, Force, cluster_option, path_option, refuse_without_ray
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
    detail_option,
    split_null_values,
)  # fmt: skip
from fansrec.cli.terminal import Terminal, echo
from fansrec.data.boundaries import parse_boundaries
from fansrec.data.columns import Columns
from fansrec.data.settings import Preparation, Split
from fansrec.errors import BadSetting

DEFAULT = Preparation()
LEARNING = "learning the categories"
# The stage that follows each line of progress.
NEXT_STAGE = {"read": "filtering", "split": LEARNING, "categories": LEARNING, "categorized": "writing"}
SOURCE = (
    "File of lists (csv, tsv, parquet, jsonl, txt; also .gz, .zip) or name of a public data set; "
    "with --engine ray also a folder, pattern or URL of Parquet or JSONL shards"
)
MIN_COUNT = "Drop items that occur fewer times; public data sets have their own default"
MIN_LENGTH = "Drop shorter lists; public data sets have their own default"
MAX_LENGTH = "Cut longer lists to their first items; public data sets have their own default"
CATEGORIES = "own if the items file has categories, else by the number of items"
SPLIT = (
    "How lists are divided into train, valid and test: 8:1:1 at random, 8:1:1 in file order as in the paper, or by the "
    "time of the lists"
)
SPLIT_BY = "Keep lists with the same value in this column in the same part, and in one fold of `fans crossval`"
SPLIT_AT = "Where valid and test begin with --split time: shares of the lists, or dates such as 2026-01-01,2026-02-01"
GROUP_NAME = "What a group is: artist, author, brand; the page of `fans serve` shows it"

filter_option, category_option, split_option = (
    partial(typer.Option, rich_help_panel=panel) for panel in ("Filter", "Categories", "Split")
)


def prepare(
    source: Annotated[str, typer.Argument(help=SOURCE)],
    out: Annotated[Path, path_option(help="Folder for the corpus")],
    items: Annotated[
        Path | None, path_option(help="File with the columns item, name, group, category and date")
    ] = None,
    min_item_count: Annotated[
        int | None, filter_option(help=MIN_COUNT, show_default=str(DEFAULT.min_item_count))
    ] = None,
    min_length: Annotated[int | None, filter_option(help=MIN_LENGTH, show_default=str(DEFAULT.min_length))] = None,
    max_length: Annotated[int | None, filter_option(help=MAX_LENGTH, show_default=str(DEFAULT.max_length))] = None,
    duplicates: Annotated[
        Literal["keep", "drop"], filter_option(help="Keep or drop repetitions of an item in a list")
    ] = DEFAULT.duplicates,
    categories: Annotated[
        str | None,
        category_option(
            metavar="N|own", help="Number of categories, or own for those of the items file", show_default=CATEGORIES
        ),
    ] = None,
    categories_from: Annotated[
        Literal["train", "all"],
        category_option(help="Learn them from the training lists, or from all lists as in the paper"),
    ] = DEFAULT.categories_from,
    split: Annotated[Split, split_option(help=SPLIT)] = DEFAULT.split,
    split_by: Annotated[str | None, split_option(help=SPLIT_BY)] = None,
    split_at: Annotated[str | None, split_option(metavar="A,B", help=SPLIT_AT, show_default="0.8,0.9")] = None,
    split_time: Annotated[
        Literal["latest", "first"], split_option(help="The time of a list whose items have times, with --split time")
    ] = DEFAULT.split_time,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives a byte-identical corpus")] = DEFAULT.seed,
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
    group_name: Annotated[
        str | None,
        detail_option(help=GROUP_NAME, show_default="the name of the column of groups"),
    ] = None,
    force: Force = False,
    engine: Engine = "local",
    address: Address = None,
    ray: Annotated[
        Literal["auto", "always"] | None,
        cluster_option(help="Use Ray only for data that do not fit this machine, or always", show_default="auto"),
    ] = None,
) -> None:
    """Prepare a corpus from lists: filter them, split them, and assign a category to every item.

    Example: `fans prepare playlists.csv --items songs.csv --out corpora/mine`

    A file has one row per item (list and item, optionally position or time), or one row per list (`items`: an array, a
    JSON array or ids separated by spaces), or JSON lines of either kind, or `list item` pairs in a .txt file.

    The output says which columns are used and what orders the items. OUT/summary.json says what is left after the
    filter, and how the lists were split.

    As in the paper: `fans prepare aotm --split file-order --categories 10 --categories-from all --out corpora/aotm`

    Train on the past, test on the newest lists: `fans prepare plays.parquet --split time --out corpora/mine`

    On a cluster: `fans prepare s3://bucket/lists/ --engine ray --address head:6379 --out /shared/corpus`

    Guide: docs/how-to/prepare-data.md
    """
    from fansrec.data.locating import locate_source

    refuse_without_ray(engine, ray=ray)
    is_shards = engine == "ray" and not Path(source).is_file() and not _is_public(source)
    path, details, own = (source, items, DEFAULT) if is_shards else locate_source(source, items)
    preparation = Preparation(
        min_item_count=own.min_item_count if min_item_count is None else min_item_count,
        min_length=own.min_length if min_length is None else min_length,
        max_length=own.max_length if max_length is None else max_length,
        categories=_categories(categories),
        categories_from=categories_from,
        split=split,
        split_by=split_by,
        seed=seed,
        group_name=group_name,
        split_at=None if split_at is None else parse_boundaries(split_at),
        split_time=split_time,
        order=order,
        on_bad_row=on_bad_row,
        duplicates=duplicates,
        separator=separator,
        null_values=split_null_values(null_values),
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
    console = Terminal()
    with StageBar(console, "reading") as bar:

        def say(line: str) -> None:
            console.say(line)
            bar.stage(NEXT_STAGE.get(line.split(":")[0], "preparing"))

        if engine == "ray":
            from fansrec.cluster.preparing.local import fits_here, prepare_locally
            from fansrec.cluster.preparing.run import prepare_on_cluster

            if ray != "always" and fits_here(str(path), say):
                summary = prepare_locally(str(path), out, preparation, details, columns, say, force)
            else:
                summary = prepare_on_cluster(path, out, preparation, details, columns, say, address, force)
        else:
            from fansrec.data.prepare import prepare as prepare_here

            summary = prepare_here(path, out, preparation, details, columns, say, force, progress=bar.advance)
    splits = ", ".join(f"{name} {count:,}" for name, count in summary["splits"].items())
    echo(
        f"{out}: {summary['lists']:,} lists of {summary['shortest']} to {summary['longest']} items, "
        f"{summary['items']:,} items in {summary['categories']} categories, "
        f"{summary['interactions']:,} interactions ({splits})"
    )


def _is_public(source: str) -> bool:
    from fansrec.data.public import PUBLIC

    return source in PUBLIC


def _categories(text: str | None) -> int | Literal["own"] | None:
    if text is None or text == "own":
        return text  # type: ignore[return-value]
    try:
        return int(text)
    except ValueError:
        raise BadSetting(f"--categories {text} is neither a number nor own; give one of them") from None
