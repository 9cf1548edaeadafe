"""`fans demo`: the whole way on the sample world, offline."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fansrec.cli.progress import BarReporter
from fansrec.files import refuse_existing


def demo(
    out: Annotated[Path | None, typer.Option(help="Keep corpus and models in this folder")] = None,
    seed: Annotated[int, typer.Option(help="Another seed makes another world")] = 0,
) -> None:
    """Make a small world of songs, prepare it, train FANS, measure it beside simpler models, continue a few lists.

    Needs no data. Takes about two minutes on two cores.
    """
    from fansrec.demo import run_demo

    console = Console(highlight=False)
    if out is not None:
        refuse_existing(out, "the demo")
    with tempfile.TemporaryDirectory() as folder, BarReporter(console) as reporter:
        place = Path(folder) / "demo" if out is None else out
        run_demo(place, seed, console, reporter)
        if out is not None:
            console.print(f"\nnext: fans continue {out / 'fans'} s0001 s0002", markup=False)
