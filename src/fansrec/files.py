"""Atomic writing of files and folders, and bounded reading of JSON from untrusted sources."""

import hashlib
import json
import os
import shutil
import stat
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from fansrec.errors import BadInput, BadSetting

T = TypeVar("T")

MAX_JSON_BYTES = 32 << 20
MAX_JSON_DEPTH = 32  # nesting of objects and arrays


def write_atomically(path: Path, write: Callable[[Path], T], mode: int = 0o644, same_owner: bool = False) -> T:
    """Let `write` fill a temporary file next to `path`, then rename it to `path`; after a failure nothing is left.

    A file that exists keeps its permissions, and its owner where the system allows that; with `same_owner` an owner
    that cannot be kept raises PermissionError. A new file gets `mode`. Returns what `write` returns.
    """
    with _errors_name(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        return _write_and_rename(Path(name), path, write, mode, same_owner)


def _write_and_rename(temporary: Path, path: Path, write: Callable[[Path], T], mode: int, same_owner: bool) -> T:
    try:
        result = write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if path.exists():
            _copy_permissions(path, temporary, same_owner)
        else:
            temporary.chmod(mode)
        temporary.replace(path)
        return result
    finally:
        temporary.unlink(missing_ok=True)


def _copy_permissions(old: Path, new: Path, same_owner: bool) -> None:
    """Give `new` the owner, the group, the mode and the access control list of `old`."""
    before, after = old.stat(), new.stat()
    try:
        if (before.st_uid, before.st_gid) != (after.st_uid, after.st_gid):
            os.chown(new, before.st_uid, before.st_gid)
    except PermissionError:
        if same_owner:
            raise
        new.chmod(stat.S_IMODE(before.st_mode) & ~0o070)  # the permissions of the old group are not for another group
        return
    modified = after.st_mtime_ns
    shutil.copystat(old, new)  # copies the access control list too, unlike any other function of the standard library
    os.utime(new, ns=(modified, modified))


def write_bytes(path: Path, content: bytes) -> None:
    write_atomically(path, lambda temporary: temporary.write_bytes(content))


def write_text(path: Path, content: str) -> None:
    write_bytes(path, content.encode())


def json_text(value: Any) -> str:
    """Return `value` as indented JSON that ends in a newline, the form of every JSON file this project writes."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write_json(path: Path, value: Any) -> None:
    write_text(path, json_text(value))


def read_json(path: Path) -> Any:
    """Return the content of a JSON file; raise ValueError if it is too large, too deep or not JSON in UTF-8."""
    with path.open("rb") as file:
        content = file.read(MAX_JSON_BYTES + 1)
    if len(content) > MAX_JSON_BYTES:
        raise ValueError(f"{path.name} has more than {MAX_JSON_BYTES:,} bytes")
    text = content.decode()
    value = parse_json(text)
    if _is_deeper(value, MAX_JSON_DEPTH):
        raise ValueError(f"{path.name} is nested deeper than {MAX_JSON_DEPTH} levels")
    if "\\u" in text:
        json.dumps(value, ensure_ascii=False).encode()  # raises for a lone surrogate, which could not be printed later
    return value


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of the TOML file that the user gave with `--config`."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}; correct --config, or leave it out") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}); correct --config, or leave it out") from error
    except ValueError as error:
        raise BadInput(f"{path} is not a readable TOML file ({error}); write lines such as: name = 64") from error


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; raise ValueError, and nothing else, if it is not JSON or nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None


def _is_deeper(value: Any, levels: int) -> bool:
    """Return whether objects and arrays are nested more than `levels` deep, without recursion."""
    values = [value]
    for _ in range(levels + 1):
        values = [child for child in values if isinstance(child, dict | list)]
        if not values:
            return False
        values = [child for parent in values for child in (parent.values() if isinstance(parent, dict) else parent)]
    return True


def format_os_error(error: OSError) -> str:
    """Return the name of the file and the system's description of the error."""
    return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_existing(path: Path, what: str, force: bool = False, marks: Sequence[str] = ()) -> None:
    """Raise BadSetting if `path`, where `what` would be written, exists, unless `force` allows to replace it.

    `marks` are given if `what` is a folder: a folder that contains none of these files is something else, and is not
    replaced. An empty folder is not a result, nor is an empty file: `mktemp` creates them.
    """
    if not path.exists() or (is_empty_folder(path) if marks else path.is_file() and not path.stat().st_size):
        return
    if not (path.is_dir() and any((path / mark).exists() for mark in marks) if marks else path.is_file()):
        advice = "--force does not replace it, so move it away" if force else "choose another path, or move it away"
        raise BadSetting(f"{path} exists and is not {what} of an earlier run; {advice}")
    if not force:
        raise BadSetting(f"{path} already exists; choose another path for {what}, or give --force to replace it")


def is_empty_folder(path: Path) -> bool:
    """Return whether `path` is a folder without content to which another folder can be renamed."""
    return bool(path.name) and path.is_dir() and not path.is_symlink() and not any(path.iterdir())


@contextmanager
def new_folder(path: Path, force: bool = False) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to `path` after the block, or removed if the block raises.

    An empty folder is replaced; with `force`, any folder that exists.
    """
    with _errors_name(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
        try:
            yield temporary
            temporary.chmod(0o755)
            move_folder(temporary, path, force)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def move_folder(new: Path, path: Path, force: bool = False) -> None:
    """Rename the folder `new` to `path`; with `force`, a folder that was there is removed afterwards."""
    if not (force and path.exists()):
        new.rename(path)
        return
    old = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        path.rename(old / path.name)
        new.rename(path)
    finally:
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _errors_name(path: Path) -> Iterator[None]:
    """Let an OSError about a temporary file or folder of `path` name `path`, the only name that the user knows."""
    try:
        yield
    except OSError as error:
        if isinstance(error.filename, str) and Path(error.filename).name.startswith(f".{path.name}."):
            error.filename = str(path)
        raise
