"""`fans export`: a trained model for other runtimes."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from fansrec.cli.places import make_room
from fansrec.cli.terminal import echo


def export(
    run: Annotated[Path, typer.Argument(help="A trained model")],
    out: Annotated[Path, typer.Option(help="Where the file goes")],
    format: Annotated[Literal["onnx"], typer.Option(help="The kind of file")] = "onnx",
) -> None:
    """Write a model that ONNX Runtime runs without this package, the choice of distinct items included.

    fans of both recipes, bert4rec and bert4rec-nar. docs/how-to/export.md shows how to ask it.

    Example: `fans export runs/mine --format onnx --out mine.onnx`
    """
    make_room(out)
    from fansrec.artifact import read_artifact
    from fansrec.export.onnx_file import export_onnx

    for path in export_onnx(read_artifact(run), out):
        echo(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    echo(f"item n of the answers is line n + 1 of {run / 'items.jsonl'}")
