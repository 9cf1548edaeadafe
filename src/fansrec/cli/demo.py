"""`fans demo`: the whole way on the sample world, offline."""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from fansrec.cli.progress import BarReporter
from fansrec.cli.serve import serve as serve_models
from fansrec.cli.terminal import Terminal
from fansrec.files import refuse_existing


def demo(
    out: Annotated[Path | None, typer.Option(help="Keep corpus and models in this folder")] = None,
    seed: Annotated[int, typer.Option(help="Another seed makes another world")] = 0,
    serve: Annotated[bool, typer.Option("--serve", help="Then serve FANS and EASE, with the page to try them")] = False,
    port: Annotated[int, typer.Option(help="Where --serve listens; 0: any free port")] = 8080,
) -> None:
    """Make a small world of songs, prepare it, train FANS, measure it beside simpler models, continue a few lists.

    Needs no data. Takes about two minutes on two cores.
    """
    from fansrec.experiments.demo import run_demo

    console = Terminal()
    if out is not None:
        refuse_existing(out, "the demo")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "demo" if out is None else out
        with BarReporter(console) as reporter:
            run_demo(place, seed, console, reporter)
        models = [f"fans={place / 'fans'}", f"ease={place / 'ease'}"]
        if serve:
            serve_models(models, port=port, log_level="warning")
        elif out is not None:
            console.print()
            console.say(f"next: {command()} serve {' '.join(models)}")
            console.print("opens a page at http://127.0.0.1:8080/ where a list continues as you build it")


def command() -> str:
    """This very command, as it can be typed again: `fans` if it is on the path."""
    return "fans" if shutil.which("fans") else os.path.relpath(sys.argv[0])
