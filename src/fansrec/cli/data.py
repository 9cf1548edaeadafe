"""`fans data`: the public sets, and a look at any set."""

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from fansrec.cli.terminal import Terminal, echo
from fansrec.data.fetching import Fetched, fetch
from fansrec.data.public import PUBLIC, PublicSet, Statistics, data_folders, find
from fansrec.errors import BadInput
from fansrec.files import sha256
from fansrec.printable import printable

app = typer.Typer(
    help="See which public sets there are, get them, and look at the shape of any set.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.command("list")
def list_sets() -> None:
    """Show the public sets with their published statistics.

    The figures are those after the paper's preparation: items that occur at least 10 times, lists cut to the longest
    length and no shorter than the shortest.
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("set", no_wrap=True)
    for column in ("lists", "items", "interactions", "average", "length", "density", "here"):
        table.add_column(column, justify="right", no_wrap=True)
    for set_ in PUBLIC.values():
        table.add_row(*_figures(set_))
    Terminal().print(table)
    echo()
    for set_ in PUBLIC.values():
        echo(f"{set_.name}: {set_.where}; {_trust(set_)}; figures counted by {set_.counted_by}")
    echo("", "Get one with `fans data fetch NAME`, then use its name as the source: `fans prepare NAME --out CORPUS`.")


def _figures(set_: PublicSet) -> list[str]:
    numbers = set_.statistics
    return [
        set_.name,
        *(f"{number:,}" for number in (numbers.lists, numbers.items, numbers.interactions)),
        f"{numbers.average:.2f}",
        f"{numbers.shortest}-{numbers.longest}",
        f"{numbers.density:.3f}%",
        _here(set_),
    ]


def _here(set_: PublicSet) -> str:
    try:
        return "yes" if find(set_.name, set_.lists, data_folders()) else "no"
    except BadInput:
        return "damaged"


def _trust(set_: PublicSet) -> str:
    if set_.download is None:
        return f"not to be fetched as one file, used from $FANS_DATA/{set_.name}/ (checksum known)"
    return "checksum known" if set_.download.sha256 else "no checksum known for the file that is fetched"


@app.command("fetch")
def fetch_sets(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Public sets, as `fans data list` names them.")],
    to: Annotated[
        Path | None,
        typer.Option(help="Folder for the files, NAME/FILE in it. Default: $FANS_DATA, or else ~/.cache/fansrec."),
    ] = None,
) -> None:
    """Get public sets: found if they are here already, downloaded if not.

    Where a checksum is known, a file that differs is refused. A download that breaks off goes on where it stopped
    when you run the same command again.
    """
    for name in names:
        for file in _fetch_with_bar(name, to):
            echo(f"{name}: {_told(file)}")
    if to is not None and to.resolve() not in [folder.resolve() for folder in data_folders()]:
        echo(f"To use the sets by name from there: export FANS_DATA={to}")


def _fetch_with_bar(name: str, to: Path | None) -> list[Fetched]:
    console = Terminal(stderr=True)
    if not console.is_terminal:  # a log wants no bar, and a refusal is to be the only line
        return fetch(name, to)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=None, visible=False)
        return fetch(name, to, lambda done, total: bar.update(task, completed=done, total=total, visible=True))


def _told(file: Fetched) -> str:
    if file.verified:
        return f"{file.how}, checksum verified: {file.path}"
    return f"{file.how}, no checksum is known for this file (its sha256 is {sha256(file.path)}): {file.path}"


@app.command("describe")
def describe_set(
    source: Annotated[str, typer.Argument(help="A prepared corpus folder, a file of lists, or a public set's name.")],
    out: Annotated[Path | None, typer.Option(help="Draw the plots into this .png, .svg or .pdf file.")] = None,
) -> None:
    """Show the statistics of a set; with --out, plot how long its lists are and how often its items occur.

    A corpus folder is shown as prepared; a file or a public set as it is before any filter.
    """
    from fansrec.data.describe import describe_source, save_plot  # brings matplotlib, which the other verbs do without

    description = describe_source(source)
    if out is not None:
        save_plot(description, out)
    table = Table(
        title=Text(printable(description.title)), box=box.SIMPLE_HEAD, show_header=False, title_justify="left"
    )
    for what, number in _rows(description.statistics):
        table.add_row(what, number)
    table.add_row("share of the top 1% of items", f"{description.top_share:.1f}% of all interactions")
    Terminal().print(table)
    if out is not None:
        echo(f"plots: {out}")


def _rows(numbers: Statistics) -> list[tuple[str, str]]:
    return [
        ("lists", f"{numbers.lists:,}"),
        ("items", f"{numbers.items:,}"),
        ("interactions", f"{numbers.interactions:,}"),
        ("items per list, average", f"{numbers.average:.2f}"),
        ("items per list, range", f"{numbers.shortest} to {numbers.longest}"),
        ("density", f"{numbers.density:.3f}%"),
    ]
