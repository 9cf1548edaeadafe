"""`fans export`: a trained model for other runtimes, or its item vectors."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from fansrec.cli.options import Force, Run, check_writable, path_option
from fansrec.cli.progress_bars import StageBar
from fansrec.cli.terminal import Terminal, echo


def export(
    run: Run,
    out: Annotated[Path, path_option(help="File to write; of vectors .parquet or .npz")],
    format: Annotated[Literal["onnx", "vectors"], typer.Option(help="A whole model, or its item vectors")] = "onnx",
    force: Force = False,
) -> None:
    """Export a trained model to ONNX, including the selection of distinct items, or its item vectors.

    Example: `fans export runs/mine --format onnx --out mine.onnx`

    ONNX Runtime runs the file without this package. Models that can be exported: fans
    with both recipes, bert4rec and bert4rec-nar.

    Item vectors: `fans export runs/mine --format vectors --out vectors.parquet`

    Guide: docs/how-to/export.md
    """
    from fansrec.artifact.manifest import refuse_inside
    from fansrec.exporting.export import export as run_export

    refuse_inside(run, out)
    check_writable(out, force=force)
    with StageBar(Terminal(stderr=True), "exporting"):
        written = run_export(run, out, format, force)
    for path in written:
        echo(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    if format == "onnx":
        echo(f"Item index n of an answer is line n + 1 of {run / 'items.jsonl'}")
