"""`fans continue --input … --engine ray`: many lists on a Ray cluster, with a progress bar."""

from pathlib import Path
from typing import Any

from rich.progress import MofNCompleteColumn, TextColumn, TimeRemainingColumn

from fansrec.cli.progress_bars import progress_bar
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
    columns = (MofNCompleteColumn(), TextColumn("{task.fields[lists]}"), TimeRemainingColumn())
    with cluster(address, workers), progress_bar(console, *columns) as progress:
        task = progress.add_task("pieces", total=None, lists="starting")

        def update(done: int, pieces: int, lists: int) -> None:
            progress.update(task, completed=done, total=pieces, lists=f"{lists:,} lists")

        summary = continue_batch(work, source, workers, update)
    console.say(f"{target}: {summary['lists']:,} lists")
