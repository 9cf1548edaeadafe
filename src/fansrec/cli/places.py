"""Where a verb is asked to write, looked at before the work is done."""

import tempfile
from pathlib import Path

from fansrec.errors import BadSetting


def make_room(path: Path | None) -> None:
    """Refuse a place that cannot be written to."""
    if path is None:
        return
    if path.is_dir():
        raise BadSetting(f"{path} is a folder; give the name of a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise BadSetting(f"cannot write to {path}: {error.strerror}; choose another place") from error
