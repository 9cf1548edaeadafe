"""Writing files so that a reader never sees half of one."""

import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fansrec.errors import BadSetting


def write_atomically(path: Path, write: Callable[[Path], object], mode: int = 0o644, same_owner: bool = False) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it into place; on failure nothing is left.

    A file that exists keeps its permissions, and its owner where the system allows that; with `same_owner` an owner
    that cannot be kept raises PermissionError. A new file gets `mode`.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if path.exists():
            _copy_permissions(path, temporary, same_owner)
        else:
            temporary.chmod(mode)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _copy_permissions(old: Path, new: Path, same_owner: bool) -> None:
    """Give `new` the owner, the group, the mode and the access control list of `old`."""
    wanted, mine = old.stat(), new.stat()
    mode = stat.S_IMODE(wanted.st_mode)
    try:
        if (wanted.st_uid, wanted.st_gid) != (mine.st_uid, mine.st_gid):
            os.chown(new, wanted.st_uid, wanted.st_gid)
    except PermissionError:
        if same_owner:
            raise
        new.chmod(mode & ~0o077)  # what the old group and everyone else could do is not for another group to have
        return
    written = mine.st_mtime_ns
    shutil.copystat(old, new)  # with the access control list, which the standard library copies nowhere else
    os.utime(new, ns=(written, written))


def write_bytes(path: Path, content: bytes) -> None:
    write_atomically(path, lambda temporary: temporary.write_bytes(content))


def write_text(path: Path, content: str) -> None:
    write_bytes(path, content.encode())


def json_text(value: Any) -> str:
    """The one way this project writes JSON for people: indented, ending in a newline."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write_json(path: Path, value: Any) -> None:
    write_text(path, json_text(value))


def told(error: OSError) -> str:
    """What the system says is wrong, and with which file."""
    return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_existing(path: Path, what: str) -> None:
    if path.exists():
        raise BadSetting(f"{path} already exists; choose another place for {what}, or remove it first")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder that becomes `path` if the block ends well, and vanishes otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        yield temporary
        temporary.chmod(0o755)
        temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
