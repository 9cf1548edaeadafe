"""`fans compact`: the writes of a service in a new model."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fansrec.cli.options import Force, Run, path_option
from fansrec.cli.progress_bars import StageBar
from fansrec.cli.terminal import Terminal, echo_json
from fansrec.printable import counted

DROPPED = {
    "kept": "the log keeps them",
    "requested": "the service removes the writes that all of its models contain when it starts or reloads next",
}
COPY = "FOLDER has a copy of the log, made while a service wrote it; not with --drop"
JSON = "Print as JSON: log, seq (newest write in the new model), folded, left (in the log), lists, items, dropped"


def compact(
    folder: Annotated[Path, typer.Argument(help="Folder of `fans serve --writes FOLDER`")],
    run: Run,
    out: Annotated[Path, path_option(help="Folder for the new model")],
    drop: Annotated[
        bool, typer.Option("--drop", help="Request the service to remove the writes that all of its models contain")
    ] = False,
    contains: Annotated[
        int | None, typer.Option(metavar="SEQ", help="The model was trained with the writes up to this number")
    ] = None,
    copied: Annotated[bool, typer.Option("--copy", help=COPY)] = False,
    json: Annotated[bool, typer.Option("--json", help=JSON)] = False,
    force: Force = False,
) -> None:
    """Write a model that contains the lists and items that were written to a service, which may continue to run.

    A service that serves the new model applies only later writes to it. Without --drop the log stays as it is. With it,
    the service removes the writes from the log that all of its models contain, when it starts or reloads next.

    While a service writes, and with --copy, writes of the last second stay for the next time if the log does not say
    yet that they are on the disk.

    Example: `fans compact /var/lib/fans runs/mine --out runs/mine-2 --drop`

    Guide: docs/how-to/update-live.md
    """
    from fansrec.serving.writes.compaction import compact as run_compact

    console = Terminal(stderr=json)
    with StageBar(console, "compacting"):
        done = run_compact(folder, run, out, drop, contains, copied, force)
    if json:
        return echo_json(asdict(done))
    console.say(f"{out} has {counted(done.lists, 'list')} and {counted(done.items, 'item')}")
    added = counted(done.folded, "write was", "writes were")
    console.say(f"{added} added, up to number {done.seq:,}; {DROPPED[done.dropped]}")
    if done.left:
        console.say(f"{counted(done.left, 'newer write stays', 'newer writes stay')} in the log")
    return None
