"""Writing files so that a reader never sees half of one, and reading JSON that a stranger may have written."""

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

LARGEST_JSON = 32 << 20  # bytes of one file
DEEPEST_JSON = 32  # objects and arrays inside each other


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
        new.chmod(mode & ~0o070)  # what the old group could do is not for another group
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


def read_json(path: Path) -> Any:
    """Return the content of a JSON file; raise ValueError if it is too large, too deep or not JSON in UTF-8."""
    with path.open("rb") as file:
        content = file.read(LARGEST_JSON + 1)
    if len(content) > LARGEST_JSON:
        raise ValueError(f"{path.name} has more than {LARGEST_JSON:,} bytes")
    text = content.decode()
    value = parse_json(text)
    if _deeper(value, DEEPEST_JSON):
        raise ValueError(f"{path.name} is nested deeper than {DEEPEST_JSON} levels")
    if "\\u" in text:
        json.dumps(value, ensure_ascii=False).encode()  # half a character is an error here and not where it is printed
    return value


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text holds; raise ValueError, and nothing else, where it is none or nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None


def _deeper(value: Any, levels: int) -> bool:
    """Return whether objects and arrays are nested deeper than this, without recursion."""
    inside = [value]
    for _ in range(levels + 1):
        inside = [part for part in inside if isinstance(part, dict | list)]
        if not inside:
            return False
        inside = [part for each in inside for part in (each.values() if isinstance(each, dict) else each)]
    return True


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
