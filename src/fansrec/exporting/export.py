"""`fansrec.export`: a trained model as a file for other runtimes."""

from pathlib import Path

from fansrec.artifact import read_artifact
from fansrec.errors import BadSetting, missing_extras
from fansrec.exporting.onnx_file import export_onnx
from fansrec.files import refuse_existing

FORMATS = ("onnx",)


@missing_extras()
def export(run: str | Path, out: str | Path, format: str = "onnx", force: bool = False) -> list[Path]:
    """Write the trained model of the folder `run` to the file `out` and return the files that were written.

    Constants of a very large model are in a second file beside `out`. `force` replaces files that exist.
    """
    if format not in FORMATS:
        raise BadSetting(f"--format is {format!r}; it must be {' or '.join(FORMATS)}")
    refuse_existing(Path(out), "the model", force)
    return export_onnx(read_artifact(Path(run)), Path(out))
