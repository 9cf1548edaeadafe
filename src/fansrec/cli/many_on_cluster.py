"""Many lists on a Ray cluster, as the terminal sees it."""

from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fansrec.cli.terminal import Terminal


def continue_on_cluster(
    run: Path,
    source: str,
    target: str,
    rules: dict[str, Any],
    device: str,
    backend: str,
    address: str | None,
    workers: int | None,
) -> None:
    from fansrec.cluster.batch import continue_batch, make_batch
    from fansrec.cluster.connection import cluster

    work = make_batch(run, target, rules, device, backend)
    console = Terminal(stderr=True)
    with cluster(address, workers), _bar(console) as progress:
        task = progress.add_task("", total=None, lists="starting")

        def tell(done: int, pieces: int, lists: int) -> None:
            progress.update(task, completed=done, total=pieces, lists=f"{lists:,} lists")

        summary = continue_batch(work, source, workers, tell)
    console.say(f"{target}: {summary['lists']:,} lists")


def _bar(console: Terminal) -> Progress:
    return Progress(
        TextColumn("pieces"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[lists]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,  # else an empty line is printed
    )
