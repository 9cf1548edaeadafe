"""Files wherever they lie: a folder that all machines see, or any URL that fsspec knows (s3://, gs://, http://)."""

import io
import posixpath
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import fsspec
from fsspec.implementations.http import HTTPFileSystem
from fsspec.implementations.local import LocalFileSystem

from fansrec.errors import BadInput, BadSetting, MissingExtra
from fansrec.files import write_atomically

PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs"}
VERSIONS = ("ETag", "etag", "generation", "mtime", "LastModified", "Last-Modified", "last_modified", "updated")
LIBRARIES = {"aiohttp", "aiobotocore", "azure", "botocore", "gcsfs", "google"}  # their errors are a place's, not ours
BLOCK = 2**20  # bytes read ahead: lines are short, and a piece of a file ends soon
HIDDEN = (".", "_")  # what other writers leave beside their shards, such as _SUCCESS


@dataclass(frozen=True)
class Stored:
    """A file; `version` changes when its content does, and only a file that can be `cut` is read from the middle."""

    url: str
    size: int
    version: str
    cut: bool = True

    @property
    def name(self) -> str:
        return posixpath.basename(self.url)


def listed(place: str, endings: Sequence[str] = ()) -> list[Stored]:
    """The file, the files of the folder, or those of the pattern, in the order of their names."""
    system, path = _system(place)
    others: list[dict[str, Any]] = []
    with readable_place(place):
        if any(sign in path for sign in "*?[") and not system.exists(path):  # a file may be called a[1].jsonl
            found = [details for details in system.glob(path, detail=True).values() if details["type"] == "file"]
        elif system.isdir(path):
            others = [details for details in system.ls(path, detail=True) if not _is_hidden(details["name"])]
            found = [details for details in others if _is_shard(details, endings)]
        elif system.exists(path):
            found = [system.info(path)]
        else:
            found = []
        files = [_stored(system, details) for details in found]
    if not files:
        raise BadInput(f"there is no file {' or '.join(endings)} at {place}{_only(others, place)}".replace("  ", " "))
    return sorted(files, key=lambda file: file.url)


def _only(others: Sequence[dict[str, Any]], place: str) -> str:
    """What a folder without a shard has instead."""
    if not others:
        return ""
    files = [posixpath.basename(details["name"]) for details in others if details["type"] == "file"]
    kinds = sorted({posixpath.splitext(name)[1] or name for name in files})[:5]
    if len(files) == len(others):
        return f", only {', '.join(kinds)}"
    return f", only {', '.join([*kinds, 'folders'])}; for what is in folders give a pattern, as {inside(place, '*/*')}"


@contextmanager
def opened(url: str, start: int = 0) -> Iterator[IO[bytes]]:
    """A file for reading from the byte `start` on."""
    system, path = _system(url)
    with tempfile.TemporaryDirectory() as folder:
        with readable_place(url):
            if isinstance(system, HTTPFileSystem):
                system.get_file(path, f"{folder}/whole")
                system, path = LocalFileSystem(), f"{folder}/whole"
            raw = system.open(path, "rb", block_size=BLOCK)
        with io.BufferedReader(raw, BLOCK) as file:
            file.seek(start)
            yield file


def write_whole(url: str, write: Callable[[Path], object]) -> None:
    """Let `write` fill a file, which appears at `url` when it is whole: renamed in a folder, uploaded elsewhere."""
    system, path = _system(url)
    if isinstance(system, LocalFileSystem):
        write_atomically(Path(path), write)
        return
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder, "whole")
        write(temporary)
        system.put_file(str(temporary), path)


def names_in(folder: str) -> list[str]:
    """The names of what lies in a folder or under a prefix; none where there is no such folder."""
    system, path = _system(folder)
    system.invalidate_cache()
    with readable_place(folder):
        if not system.exists(path):
            return []
        if not system.isdir(path):
            raise BadSetting(f"{folder} is a file; give a folder")
        return sorted(posixpath.basename(name.rstrip("/")) for name in system.ls(path, detail=False))


def make_folder(folder: str) -> None:
    system, path = _system(folder)
    if isinstance(system, LocalFileSystem):  # elsewhere a prefix begins with its first file
        Path(path).mkdir(parents=True, exist_ok=True)


def remove(url: str) -> None:
    system, path = _system(url)
    system.rm_file(path)


def exists(url: str) -> bool:
    system, path = _system(url)
    system.invalidate_cache()
    return bool(system.exists(path))


def inside(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"


def everywhere(place: str) -> str:
    """The same place for a process that works in another folder."""
    return place if "://" in place else str(Path(place).absolute())


def plain(url: str) -> str:
    """A URL as people write it: a file of this machine by its path alone."""
    return url.removeprefix("file://")


def _system(url: str) -> tuple[Any, str]:
    protocol = url.partition("://")[0] if "://" in url else "file"
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        package = PACKAGES.get(protocol)
        advice = f"run: pip install {package}" if package else str(error)
        raise MissingExtra(f"{protocol}:// needs a package that is not installed; {advice}") from error
    except ValueError as error:
        raise BadSetting(f"{url}: {error}") from error
    return system, path


def _stored(system: Any, details: dict[str, Any]) -> Stored:
    if details.get("size") is None:  # a web server's listing has names alone
        details = system.info(details["name"])
    version = next((str(details[name]) for name in VERSIONS if details.get(name)), "")
    cut = not isinstance(system, HTTPFileSystem)  # few web servers can begin in the middle of a file
    return Stored(str(system.unstrip_protocol(details["name"])), details.get("size") or 0, version, cut)


def _is_shard(details: dict[str, Any], endings: Sequence[str]) -> bool:
    return details["type"] == "file" and (not endings or details["name"].endswith(tuple(endings)))


def _is_hidden(path: str) -> bool:
    return posixpath.basename(path.rstrip("/")).startswith(HIDDEN)


def is_storage_error(error: BaseException) -> bool:
    """Whether the place is to blame; not all libraries say so by an OSError."""
    return isinstance(error, OSError) or type(error).__module__.partition(".")[0] in LIBRARIES


@contextmanager
def readable_place(place: str) -> Iterator[None]:
    """Around reading: whatever the place is to blame for comes as one line that names it."""
    try:
        yield
    except FileNotFoundError as error:
        raise BadInput(f"there is no {place}") from error
    except Exception as error:
        if not is_storage_error(error):
            raise
        told = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise BadInput(f"{place} cannot be read ({told})") from error
