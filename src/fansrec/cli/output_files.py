"""Output files of commands, checked before the work begins."""

import tempfile
from pathlib import Path

from fansrec.errors import BadSetting


def check_writable(path: Path | None) -> None:
    """Create the folder of `path` and refuse a path that cannot be written to."""
    if path is None:
        return
    if path.is_dir():
        raise BadSetting(f"{path} is a folder; give the name of a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise BadSetting(f"cannot write to {path}: {error.strerror}; choose another path") from error
