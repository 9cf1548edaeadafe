"""`fans compact`: the writes of a service in a new model."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fansrec.cli.options import Force, Run, path_option
from fansrec.cli.terminal import Terminal, echo_json

DROPPED = {
    "kept": "the log keeps them",
    "removed": "they were removed from the log",
    "at-reload": "the service removes them from the log when it reloads a model that contains them",
}


def compact(
    folder: Annotated[Path, typer.Argument(help="Folder of `fans serve --writes FOLDER`")],
    run: Run,
    out: Annotated[Path, path_option(help="Folder for the new model")],
    drop: Annotated[bool, typer.Option("--drop", help="Remove the writes that the new model contains")] = False,
    contains: Annotated[
        int | None, typer.Option(metavar="SEQ", help="The model was trained with the writes up to this number")
    ] = None,
    copied: Annotated[
        bool, typer.Option("--copy", help="FOLDER has a copy of the log, made while a service wrote it")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON")] = False,
    force: Force = False,
) -> None:
    """Write a model that contains the lists and items that were written to a service, which may continue to run.

    A service that serves the new model applies only later writes to it. Without --drop the log stays as it is.

    Example: `fans compact /var/lib/fans runs/mine --out runs/mine-2 --drop`
    """
    from fansrec.serving.writes.compaction import compact as run_compact

    console = Terminal(stderr=json)
    with console.status("compacting …"):
        done = run_compact(folder, run, out, drop, contains, copied, force)
    if json:
        return echo_json(asdict(done))
    console.say(f"{out} has {done.lists:,} lists and {done.items:,} items")
    console.say(f"{done.folded:,} writes up to number {done.seq:,} were added; {DROPPED[done.dropped]}")
    if done.left:
        console.say(f"{done.left:,} newer writes stay in the log")
    return None
