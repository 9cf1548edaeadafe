"""The folder in which `fans compare` and `fans tune` keep their results, so that the same command continues."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fansrec.errors import BadSetting
from fansrec.experiments.cells import read_object
from fansrec.files import is_empty_folder, write_json


def start_folder(folder: Path, what: str, mark: str, about: Mapping[str, Any], own: str, force: bool) -> None:
    """Make the folder of `what`, or check that an earlier one in it was made from the same things.

    The file `mark` in it contains `about`: a folder without a file of these keys is something else and is refused. With
    `force` the earlier results are removed: the files and folders whose names match the pattern `own`, and no others.
    """
    found = read_object(folder / mark)
    if folder.exists() and not is_empty_folder(folder) and not _is_mark(found, about):
        raise BadSetting(f"{folder} exists and is not the folder of a {what}; choose another --out")
    if found is not None and found != about and not force:
        different = ", ".join(name for name, value in about.items() if found[name] != value)
        different = different.replace("fingerprint", "corpus")
        raise BadSetting(
            f"{folder} has a {what} with another {different}; choose another --out, or give --force to replace it"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if force:
            _remove(folder, own)
        write_json(folder / mark, dict(about))
    except OSError as error:
        raise BadSetting(f"{folder} cannot be written ({error.strerror}); choose another --out") from error


def _is_mark(found: Mapping[str, Any] | None, about: Mapping[str, Any]) -> bool:
    """Return whether an object has the keys of a mark, with values of the same types."""
    return found is not None and {name: type(value) for name, value in found.items()} == {
        name: type(value) for name, value in about.items()
    }


def _remove(folder: Path, own: str) -> None:
    for path in folder.iterdir():
        if re.fullmatch(own, path.name):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
