"""`fans continue --input`: many lists in this process or on a Ray cluster, with a progress bar."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import MofNCompleteColumn, TextColumn, TimeRemainingColumn

from fansrec.api.continuer import Continuer
from fansrec.api.many_lists import read_batches, write_answers
from fansrec.cli.progress_bars import progress_bar
from fansrec.cli.terminal import Terminal
from fansrec.errors import BadInput
from fansrec.files import refuse_existing, write_atomically
from fansrec.printable import printable

if TYPE_CHECKING:
    from fansrec.cluster.batch import Batch

LISTS = TextColumn("{task.fields[lists]} lists")


def continue_file(continuer: Continuer, source: Path, target: Path, rules: dict[str, Any]) -> None:
    """Write one line to `target` for every line of `source`, in order; the file appears when it is complete."""
    refuse_existing(target, "the continuations")
    if not target.parent.is_dir():
        raise BadInput(f"there is no folder {target.parent}; create it first")
    if not source.is_file():
        raise BadInput(f"there is no file {source}; check --input")
    console = Terminal(stderr=True)
    with source.open("rb") as lines, progress_bar(console, LISTS, TimeRemainingColumn()) as progress:
        task = progress.add_task(printable(source.name), total=source.stat().st_size, lists=0)

        def report(lists: int) -> None:
            progress.update(task, completed=lines.tell(), lists=f"{lists:,}")

        batches = read_batches(lines, source)
        counts = write_atomically(target, lambda path: write_answers(path, batches, continuer, rules, report))
    console.say(f"{target}: {counts['lists']:,} lists")


def continue_on_cluster(batch: "Batch", source: str, target: str, address: str | None, workers: int | None) -> None:
    """Write the continuations of all lists of `source` to the folder `target` of the batch."""
    from fansrec.cluster.batch import continue_batch
    from fansrec.cluster.connection import cluster

    console = Terminal(stderr=True)
    columns = (MofNCompleteColumn(), LISTS, TimeRemainingColumn())
    with cluster(address, workers), progress_bar(console, *columns) as progress:
        task = progress.add_task("pieces", total=None, lists=0)

        def update(done: int, pieces: int, lists: int) -> None:
            progress.update(task, completed=done, total=pieces, lists=f"{lists:,}")

        summary = continue_batch(batch, source, workers, update)
    console.say(f"{target}: {summary['lists']:,} lists")
