"""API keys: the file with their names, roles and hashes, and changes to it."""

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from fansrec.errors import BadInput, BadSetting
from fansrec.files import format_os_error, write_atomically

Role = Literal["use", "write", "admin", "metrics"]
NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
HASH = re.compile(r"[0-9a-f]{64}")
PREFIX = "fans_"  # so that a key is recognized wherever it appears
MAX_FILE_BYTES = 2**20
ROLES = "use, write, admin or metrics"
HEADING = f"# API keys of `fans serve`: name, role ({ROLES}), SHA-256 of the key. Change with `fans keys`.\n"


class Entry(NamedTuple):
    """A line of the file; the key itself is nowhere."""

    name: str
    role: Role
    digest: str


def digest_of(key: str) -> str:
    # Plain SHA-256: a slow hash with a salt protects passwords that people choose. Nobody can guess 256 random bits,
    # however fast the hash, and a slow hash at every request would make it easy to overload the service.
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def read_keys(text: str, where: str) -> list[Entry]:
    """Return the entries of a key file; an error names the line, never its content."""
    entries: list[Entry] = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split()
        if not fields or fields[0].startswith("#"):
            continue
        if len(fields) != 3 or not NAME.fullmatch(fields[0]) or not HASH.fullmatch(fields[2]):
            raise BadInput(f"{where}, line {number}: not `name role sha256`; create keys with `fans keys add`")
        role = next((role for role in get_args(Role) if role == fields[1]), None)
        if role is None:
            raise BadInput(f"{where}, line {number}: the role must be {ROLES}")
        if fields[0] in {entry.name for entry in entries}:
            raise BadInput(f"{where}, line {number}: a key of this name already exists; remove one of the two")
        entries.append(Entry(fields[0], role, fields[2]))
    return entries


def read_key_file(file: Path) -> list[Entry]:
    return read_keys(_read_text(file), str(file))


def new_key(file: Path, name: str, role: Role) -> str:
    """Add a key to the file, which is created if needed; return the key, which is stored nowhere."""
    if not NAME.fullmatch(name):
        raise BadSetting(f"{name!r} cannot name a key; use up to 64 letters, digits, dots, dashes and underscores")
    key = PREFIX + secrets.token_urlsafe(32)
    with _edit(file) as lines:
        if name in {entry.name for entry in read_keys("".join(lines), str(file))}:
            raise BadSetting(f"{file} already has a key named {name}; remove it first, or choose another name")
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        lines.append(f"{name} {role} {digest_of(key)}\n")
    return key


def remove_key(file: Path, name: str) -> None:
    """Remove a key from the file; a running service refuses it within a second."""
    with _edit(file) as lines:
        kept = [line for line in lines if line.split()[:1] != [name] or name.startswith("#")]
        if len(kept) == len(lines):
            raise BadSetting(f"{file} has no key named {name}; see `fans keys list {file}`")
        lines[:] = kept


@contextmanager
def _edit(file: Path) -> Iterator[list[str]]:
    """Yield the lines of the file and write them back after the block; a lock keeps other editors out."""
    file = file.resolve()  # a link stays a link
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        lines = _read_text(file).splitlines(keepends=True) if file.exists() else [HEADING]
        yield lines
        _replace(file, _check_size("".join(lines).encode(), file))
    finally:
        os.close(folder)


def _replace(file: Path, content: bytes) -> None:
    """Write the file with the owner and the mode it had, so that a service that could read it still can."""
    try:
        write_atomically(file, lambda temporary: temporary.write_bytes(content), mode=0o600, same_owner=True)
    except OSError as error:
        raise BadSetting(
            f"{file} was not changed: it cannot be written with the owner and the mode it has "
            f"({format_os_error(error)}). "
            "Run the command as the file's owner or as root."
        ) from error


def _read_text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return _check_size(opened.read(MAX_FILE_BYTES + 1), file).decode()
    except OSError as error:
        raise BadInput(
            f"the key file cannot be read ({format_os_error(error)}); `fans keys add` creates one"
        ) from error
    except UnicodeDecodeError:
        raise BadInput(f"{file} is not a text file; create a key file with `fans keys add`") from None


def _check_size(content: bytes, file: Path) -> bytes:
    # If only a part of the file were read, the other keys would be lost silently.
    if len(content) > MAX_FILE_BYTES:
        raise BadInput(f"{file} has more than {MAX_FILE_BYTES} bytes, too many for a key file; give another one")
    return content
