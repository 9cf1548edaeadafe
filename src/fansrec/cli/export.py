"""`fans export`: a trained model for other runtimes, or its item vectors."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from fansrec.cli.options import Run, check_writable
from fansrec.cli.terminal import echo


def export(
    run: Run,
    out: Annotated[Path, typer.Option(help="File to write; of vectors .parquet or .npz")],
    format: Annotated[Literal["onnx", "vectors"], typer.Option(help="A whole model, or its item vectors")] = "onnx",
) -> None:
    """Export a trained model to ONNX, including the selection of distinct items, or its item vectors.

    Example: `fans export runs/mine --format onnx --out mine.onnx`

    ONNX Runtime runs the file without this package; docs/how-to/export.md shows how. Models that can be exported: fans
    with both recipes, bert4rec and bert4rec-nar.

    Item vectors: `fans export runs/mine --format vectors --out vectors.parquet`
    """
    check_writable(out)
    if format == "vectors":
        _export_vectors(run, out)
        return
    from fansrec.artifact import read_artifact
    from fansrec.export.onnx_file import export_onnx

    for path in export_onnx(read_artifact(run), out):
        echo(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    echo(f"Item index n of an answer is line n + 1 of {run / 'items.jsonl'}")


def _export_vectors(run: Path, out: Path) -> None:
    from fansrec.api.formatting import item_details
    from fansrec.api.similar import SimilarItems
    from fansrec.artifact import read_artifact
    from fansrec.export.vectors import check_suffix, write_vectors

    check_suffix(out)
    artifact = read_artifact(run)
    found = SimilarItems(artifact, item_details(artifact.vocabulary)).vectors()
    write_vectors(found, out)
    count, width = found.vectors.shape
    echo(f"{out}: {count:,} items, vectors of {width}")
