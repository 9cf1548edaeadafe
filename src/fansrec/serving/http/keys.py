"""API keys: a file of names, roles and hashes, and changing it."""

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

Role = Literal["use", "admin", "metrics"]
NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
HASH = re.compile(r"[0-9a-f]{64}")
PREFIX = "fans_"  # so that a key is known for one wherever it turns up
LARGEST_FILE = 2**20
HEADING = (
    "# API keys of `fans serve`: name, role (use, admin or metrics), SHA-256 of the key. Change with `fans keys`.\n"
)


class Holder(NamedTuple):
    """Whose key it is, and what it opens."""

    name: str
    role: Role


class Entry(NamedTuple):
    holder: Holder
    digest: str


def digest_of(key: str) -> str:
    # Plain SHA-256: a slow hash with a salt guards what people choose; nobody guesses 256 random bits, however fast
    # the hash, and a slow one at every request would be a way to bring the service down.
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def read_keys(text: str, where: str) -> list[Entry]:
    """The entries of a key file; a mistake is named by its line, never by its content."""
    entries: list[Entry] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 3 or not NAME.fullmatch(words[0]) or not HASH.fullmatch(words[2]):
            raise BadInput(f"{where}, line {number}: not `name role sha256`; make keys with `fans keys add`")
        role = next((role for role in get_args(Role) if role == words[1]), None)
        if role is None:
            raise BadInput(f"{where}, line {number}: the role must be use, admin or metrics")
        if words[0] in {entry.holder.name for entry in entries}:
            raise BadInput(f"{where}, line {number}: there is a key of this name already; remove one of the two")
        entries.append(Entry(Holder(words[0], role), words[2]))
    return entries


def read_key_file(file: Path) -> list[Entry]:
    return read_keys(_text(file), str(file))


def new_key(file: Path, name: str, role: Role) -> str:
    """Add a key to the file, which is made if need be; the key itself is returned here and kept nowhere."""
    if not NAME.fullmatch(name):
        raise BadSetting(f"{name!r} cannot name a key; use up to 64 letters, digits, dots, dashes and underscores")
    key = PREFIX + secrets.token_urlsafe(32)
    with _changing(file) as lines:
        if name in {entry.holder.name for entry in read_keys("".join(lines), str(file))}:
            raise BadSetting(f"{file} has a key named {name} already; remove it first, or choose another name")
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        lines.append(f"{name} {role} {digest_of(key)}\n")
    return key


def remove_key(file: Path, name: str) -> None:
    """Take a key out of the file; a running service refuses it from the next second on."""
    with _changing(file) as lines:
        kept = [line for line in lines if line.split()[:1] != [name] or name.startswith("#")]
        if len(kept) == len(lines):
            raise BadSetting(f"{file} has no key named {name}; see `fans keys list {file}`")
        lines[:] = kept


@contextmanager
def _changing(file: Path) -> Iterator[list[str]]:
    """The lines of the file, written back after the block; two that change it at once take turns."""
    file = file.resolve()  # of a link it is the file that changes
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        lines = _text(file).splitlines(keepends=True) if file.exists() else [HEADING]
        yield lines
        content = _bounded("".join(lines).encode(), file)
        _replace(file, content)
    finally:
        os.close(folder)


def _replace(file: Path, content: bytes) -> None:
    """Write the file with the owner and the mode it had: a service that could read it before still can."""
    try:
        write_atomically(file, lambda temporary: temporary.write_bytes(content), mode=0o600, same_owner=True)
    except OSError as error:
        raise BadSetting(
            f"{file} was not changed: it cannot be written with the owner and the mode it has "
            f"({format_os_error(error)}). "
            "Run the command as the file's owner or as root."
        ) from error


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return _bounded(opened.read(LARGEST_FILE + 1), file).decode()
    except OSError as error:
        raise BadInput(f"the key file cannot be read ({format_os_error(error)}); `fans keys add` makes one") from error
    except UnicodeDecodeError:
        raise BadInput(f"{file} is no text; make a key file with `fans keys add`") from None


def _bounded(content: bytes, file: Path) -> bytes:
    # Of a file that is cut, the keys behind the cut would be lost without a word.
    if len(content) > LARGEST_FILE:
        raise BadInput(f"{file} has more than {LARGEST_FILE} bytes, too many for a key file; give another")
    return content
