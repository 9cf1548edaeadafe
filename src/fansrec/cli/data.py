"""`fans data`: list and download public data sets, and describe any data set."""

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.progress import DownloadColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from fansrec.cli.options import Force, check_writable, command_group, path_option
from fansrec.cli.progress_bars import progress_bar
from fansrec.cli.terminal import Terminal, echo
from fansrec.cli.urls import refuse_url
from fansrec.data.fetching import Fetched, fetch
from fansrec.data.locating import data_folders, find
from fansrec.data.public import PUBLIC, PublicSet, Statistics
from fansrec.errors import BadInput
from fansrec.files import sha256
from fansrec.printable import printable

app = command_group(help="List and download public data sets, and describe any data set.")


@app.command("list")
def list_sets() -> None:
    """List the public data sets with their published statistics.

    Example: `fans data list`

    The statistics are those after the paper's preparation: items that occur at least 10 times (5 times in aotm-large,
    nowplaying and recipes), lists cut to the maximum length and no shorter than the minimum length.
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("data set", no_wrap=True)
    for column in ("lists", "items", "interactions", "average", "length", "density", "available"):
        table.add_column(column, justify="right", no_wrap=True)
    for set_ in PUBLIC.values():
        table.add_row(set_.name, *_figures(set_.statistics, "-"), _available(set_))
    Terminal().print(table)
    echo()
    for set_ in PUBLIC.values():
        echo(f"{set_.name}: {set_.where}; {_checksum(set_)}; statistics from {set_.counted_by}")
    echo("", "Download one with `fans data fetch NAME`, then prepare it by name: `fans prepare NAME --out CORPUS`.")


def _figures(statistics: Statistics, to: str) -> list[str]:
    """Return lists, items, interactions, average length, range of lengths (joined by `to`) and density as text."""
    return [
        *(f"{number:,}" for number in (statistics.lists, statistics.items, statistics.interactions)),
        f"{statistics.average:.2f}",
        f"{statistics.shortest}{to}{statistics.longest}",
        f"{statistics.density:.3f}%",
    ]


def _available(set_: PublicSet) -> str:
    try:
        return "yes" if find(set_, set_.lists, data_folders()) else "no"
    except BadInput:
        return "damaged"


def _checksum(set_: PublicSet) -> str:
    if set_.sources:
        return f"made from {len(set_.sources)} files that are downloaded; checksum known"
    if set_.download is None:
        return f"cannot be downloaded ({set_.steps}); used from $FANS_DATA/{set_.folder}/ (checksum known)"
    return "checksum known" if set_.download.sha256 else "no checksum known for the download"


@app.command("fetch")
def fetch_sets(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Names of public data sets, see `fans data list`")
    ],
    to: Annotated[
        Path | None,
        path_option(help="Folder for the files NAME/FILE", show_default="$FANS_DATA, else ~/.cache/fansrec"),
    ] = None,
) -> None:
    """Download public data sets, unless they are already available.

    Example: `fans data fetch aotm`

    A set whose source has another form is converted. A file whose checksum is known and differs is refused. The same
    command resumes an interrupted download.

    Guide: docs/how-to/get-public-data.md
    """
    for name in names:
        for file in _fetch_with_bar(name, to):
            echo(f"{name}: {_describe(file)}")
    if to is not None and to.resolve() not in [folder.resolve() for folder in data_folders()]:
        echo(f"To use these data sets by name: export FANS_DATA={to}")


def _fetch_with_bar(name: str, to: Path | None) -> list[Fetched]:
    with progress_bar(Terminal(stderr=True), DownloadColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task(name, total=None, visible=False)
        return fetch(name, to, lambda done, total: bar.update(task, completed=done, total=total, visible=True))


def _describe(file: Fetched) -> str:
    if file.verified:
        return f"{file.how}, checksum verified: {file.path}"
    return f"{file.how}, no checksum is known for this file (its sha256 is {sha256(file.path)}): {file.path}"


@app.command("describe")
def describe_set(
    source: Annotated[
        str, typer.Argument(help="Corpus folder, file of lists, or name of a public data set", callback=refuse_url)
    ],
    out: Annotated[Path | None, path_option(help="Write plots to this .png, .svg or .pdf file")] = None,
    force: Force = False,
) -> None:
    """Print the statistics of a data set; with --out, plot its list lengths and item frequencies.

    Example: `fans data describe corpora/mine --out mine.png`

    A corpus folder is described as prepared, a file or a public data set as it is before filtering.
    """
    from fansrec.data.describe import describe_source

    if out is not None:
        from fansrec.data.plots import check_format, save_plot  # first, as it needs matplotlib

        check_format(out)
        check_writable(out, force=force)
    description = describe_source(source)
    if out is not None:
        save_plot(description, out)
    table = Table(
        title=Text(printable(description.title)), box=box.SIMPLE_HEAD, show_header=False, title_justify="left"
    )
    names = ("lists", "items", "interactions", "items per list, average", "items per list, range", "density")
    for name, value in zip(names, _figures(description.statistics, " to "), strict=True):
        table.add_row(name, value)
    table.add_row("share of the top 1% of items", f"{description.top_share:.1f}% of all interactions")
    Terminal().print(table)
    if out is not None:
        echo(f"plots: {out}")
