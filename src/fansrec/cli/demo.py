"""`fans demo`: the whole workflow on the sample world, offline."""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from fansrec.cli.options import Force, path_option
from fansrec.cli.progress_bars import TrainingBar
from fansrec.cli.serve import serve as serve_models
from fansrec.cli.terminal import Terminal
from fansrec.errors import Unfinished
from fansrec.files import refuse_existing


def demo(
    out: Annotated[Path | None, path_option(help="Keep the corpus and the models in this folder")] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the sample world")] = 0,
    serve: Annotated[bool, typer.Option("--serve", help="Serve FANS and EASE at the end, with a web page")] = False,
    port: Annotated[int, typer.Option(help="Port of --serve; 0 for any free port")] = 8080,
    force: Force = False,
) -> None:
    """Generate a sample world, train FANS and three baselines on it, evaluate them and continue a few lists.

    Example: `fans demo --out demo`

    Needs no data or network. Takes about a minute of processor time.

    Tutorial: docs/tutorials/sample-world.md
    """
    from fansrec.experiments.demo import run_demo

    console = Terminal()
    if out is not None:
        refuse_existing(out, "the demo", force, ["world/lists.jsonl"])
        shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "demo" if out is None else out
        try:
            with TrainingBar(console) as reporter:
                run_demo(folder, seed, console, reporter)
        except Unfinished as error:  # the message is written for `fans train`, which can resume
            again = "start it again" if out is None else "start it again with --force"
            raise type(error)(
                f"{error.on_command_line.rpartition(';')[0]}; the demo cannot be resumed, {again}"
            ) from None
        models = [f"fans={folder / 'fans'}", f"ease={folder / 'ease'}"]
        if serve:
            serve_models(models, port=port, log_level="warning")
        elif out is not None:
            console.print()
            console.say(f"Next: {_command()} serve {' '.join(models)}")
            console.print("serves a page at http://127.0.0.1:8080/ where you build a list and see it continued")


def _command() -> str:
    """Return how to call this command: `fans` if it is on the path."""
    return "fans" if shutil.which("fans") else os.path.relpath(sys.argv[0])
