"""`fans prepare`: a corpus from a file of lists."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fansrec.cli.options import Address, Engine
from fansrec.cli.terminal import Terminal, echo
from fansrec.data.columns import Columns
from fansrec.data.settings import Preparation
from fansrec.errors import BadInput, BadSetting

if TYPE_CHECKING:
    from fansrec.data.public import PublicSet

DEFAULT = Preparation()
# The stage that follows each line of progress.
NEXT_STAGE = {"read": "filtering …", "split": "learning the categories …", "categorized": "writing …"}
SOURCE = (
    "File of lists (csv, tsv, parquet, jsonl, txt; also .gz, .zip) or name of a public data set; "
    "with --engine ray also a folder, pattern or URL of Parquet or JSONL shards"
)
MIN_COUNT = "Drop items that occur fewer times; public data sets have their own default"
MIN_LENGTH = "Drop shorter lists; public data sets have their own default"
MAX_LENGTH = "Cut longer lists to their first items; public data sets have their own default"
CATEGORIES = "own if the items file has categories, else by the number of items"

filter_option, category_option, split_option, column_option = (
    partial(typer.Option, rich_help_panel=panel)
    for panel in ("Filter", "Categories", "Split", "Columns (default: recognized by their names)")
)


def prepare(
    source: Annotated[str, typer.Argument(help=SOURCE)],
    out: Annotated[Path, typer.Option(help="Folder for the corpus; it must not exist")],
    items: Annotated[Path | None, typer.Option(help="File with the columns item, name, group and category")] = None,
    min_item_count: Annotated[
        int | None, filter_option(help=MIN_COUNT, show_default=str(DEFAULT.min_item_count))
    ] = None,
    min_length: Annotated[int | None, filter_option(help=MIN_LENGTH, show_default=str(DEFAULT.min_length))] = None,
    max_length: Annotated[int | None, filter_option(help=MAX_LENGTH, show_default=str(DEFAULT.max_length))] = None,
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
    split: Annotated[
        Literal["random", "file-order"],
        split_option(help="How lists are split 8:1:1; file-order is the split of the paper"),
    ] = DEFAULT.split,
    split_by: Annotated[
        str | None, split_option(help="Keep lists with the same value in this column in the same part")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives a byte-identical corpus")] = DEFAULT.seed,
    list_column: Annotated[str | None, column_option(help="Column of list ids")] = None,
    item_column: Annotated[str | None, column_option(help="Column of item ids")] = None,
    position_column: Annotated[
        str | None, column_option(help="Column of positions; without it, the order of rows")
    ] = None,
    items_column: Annotated[str | None, column_option(help="Column of whole lists, if each row is a list")] = None,
    group_name: Annotated[
        str | None,
        column_option(help="What a group is: artist, author, brand", show_default="the name of the column of groups"),
    ] = None,
    engine: Engine = "local",
    address: Address = None,
) -> None:
    """Prepare a corpus from lists: filter them, split them, and assign a category to every item.

    Example: `fans prepare playlists.csv --items songs.csv --out corpora/mine`

    A file has one row per item (`list_id, item_id`, optionally `position`), or one row per list (`items`: an array, a
    JSON array or ids separated by spaces), or JSON lines `{"id": 1, "items": ["a", "b"]}`, or `list item` pairs in a
    .txt file.

    As in the paper: `fans prepare aotm --split file-order --categories 10 --categories-from all --out corpora/aotm`

    On a cluster: `fans prepare s3://bucket/lists/ --engine ray --address head:6379 --out /shared/corpus`
    """
    path, items, own = _locate(source, items, engine)
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
    )
    columns = Columns(list=list_column, item=item_column, position=position_column, items=items_column)
    console = Terminal()
    with console.status("reading …") as status:

        def say(line: str) -> None:
            console.say(line)
            status.update(NEXT_STAGE.get(line.split(":")[0], "preparing …"))

        if engine == "ray":
            from fansrec.cluster.preparing.run import prepare_on_cluster

            summary = prepare_on_cluster(path, out, preparation, items, columns, say, address)
        else:
            from fansrec.data.prepare import prepare as prepare_here

            summary = prepare_here(path, out, preparation, items, columns, say)
    splits = ", ".join(f"{name} {count:,}" for name, count in summary["splits"].items())
    echo(
        f"{out}: {summary['lists']:,} lists of {summary['shortest']} to {summary['longest']} items, "
        f"{summary['items']:,} items in {summary['categories']} categories, "
        f"{summary['interactions']:,} interactions ({splits})"
    )


def _locate(source: str, items: Path | None, engine: str) -> "tuple[str, Path | None, Preparation | PublicSet]":
    """Return the files of SOURCE, and what has the defaults of its filter."""
    from fansrec.data.locating import items_file, locate
    from fansrec.data.public import PUBLIC

    if Path(source).is_file():
        return source, items, DEFAULT
    if source in PUBLIC:
        return str(locate(source)), items or items_file(source), PUBLIC[source]
    if engine == "ray":
        return source, items, DEFAULT
    if Path(source).is_dir():
        raise BadInput(
            f"{source} is a folder; give one of its files, or use --engine ray, which accepts folders of shards"
        )
    raise BadInput(f"{source} is neither a file nor the name of a public data set; `fans data list` shows the names")


def _categories(text: str | None) -> int | Literal["own"] | None:
    if text is None or text == "own":
        return text  # type: ignore[return-value]
    try:
        return int(text)
    except ValueError:
        raise BadSetting(f"--categories {text} is neither a number nor own; give one of them") from None
