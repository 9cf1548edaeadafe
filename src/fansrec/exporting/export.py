"""`fansrec.export`: a trained model as a file for other runtimes."""

from pathlib import Path

from fansrec.api.formatting import item_details
from fansrec.api.similar import SimilarItems
from fansrec.artifact import read_artifact
from fansrec.artifact.manifest import refuse_inside
from fansrec.errors import BadSetting, missing_extras
from fansrec.exporting.vectors import check_suffix, write_vectors
from fansrec.files import refuse_existing

FORMATS = ("onnx", "vectors")


@missing_extras()
def export(run: str | Path, out: str | Path, format: str = "onnx", force: bool = False) -> list[Path]:
    """Write a trained model as a file for other runtimes.

    Args:
        run: Folder of the trained model.
        out: The file to write. Constants of a very large ONNX model are in a second file beside it.
        format: onnx for the whole model, or vectors for its item vectors (`out` ends in .parquet or .npz).
        force: Replace files that exist.

    Returns:
        The files that were written.

    Examples:
        >>> import fansrec
        >>> [file] = fansrec.export("runs/fans", "vectors.npz", format="vectors")
        >>> file.name
        'vectors.npz'
    """
    if format not in FORMATS:
        raise BadSetting(f"--format is {format!r}; it must be {' or '.join(FORMATS)}")
    refuse_inside(Path(run), Path(out))
    refuse_existing(Path(out), "the model", force)
    if format == "vectors":
        return _export_vectors(Path(run), Path(out))
    from fansrec.exporting.onnx_file import export_onnx  # needs torch and onnx, which vectors do not

    return export_onnx(read_artifact(Path(run)), Path(out))


def _export_vectors(run: Path, out: Path) -> list[Path]:
    check_suffix(out)
    artifact = read_artifact(run)
    write_vectors(SimilarItems(artifact, item_details(artifact.vocabulary)).vectors(), out)
    return [out]
