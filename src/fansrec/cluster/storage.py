"""Files in a shared folder or at any URL that fsspec supports (s3://, gs://, http://)."""

import io
import posixpath
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import fsspec
from fsspec.implementations.http import HTTPFileSystem
from fsspec.implementations.local import LocalFileSystem

from fansrec.errors import BadInput, BadSetting, MissingExtra
from fansrec.files import write_atomically

T = TypeVar("T")

PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs"}
VERSIONS = ("ETag", "etag", "generation", "mtime", "LastModified", "Last-Modified", "last_modified", "updated")
LIBRARIES = {"aiohttp", "aiobotocore", "azure", "botocore", "gcsfs", "google"}  # whose exceptions are storage errors
BLOCK_BYTES = 2**20  # read ahead: lines are short, and a piece of a file is small
HIDDEN = (".", "_")  # files that other writers add to their shards, such as _SUCCESS


@dataclass(frozen=True)
class StoredFile:
    """A file; `version` changes when its content does, and `cut` says whether it can be read from the middle."""

    url: str
    size: int
    version: str
    cut: bool = True

    @property
    def name(self) -> str:
        return posixpath.basename(self.url)


def list_files(location: str, suffixes: Sequence[str] = ()) -> list[StoredFile]:
    """Return the file, the files of the folder, or the files of the pattern, sorted by name."""
    system, path = _filesystem(location)
    others: list[dict[str, Any]] = []
    with storage_errors(location):
        if any(sign in path for sign in "*?[") and not system.exists(path):  # a file may be named a[1].jsonl
            found = [details for details in system.glob(path, detail=True).values() if details["type"] == "file"]
        elif system.isdir(path):
            others = [details for details in system.ls(path, detail=True) if not _base_name(details).startswith(HIDDEN)]
            found = [details for details in others if details["type"] == "file"]
            found = [details for details in found if not suffixes or details["name"].endswith(tuple(suffixes))]
        elif system.exists(path):
            found = [system.info(path)]
        else:
            found = []
        files = [_stored_file(system, details) for details in found]
    if not files:
        raise BadInput(
            f"there is no file {' or '.join(suffixes)} at {location}{_others(others, location)}".replace("  ", " ")
        )
    return sorted(files, key=lambda file: file.url)


def _others(others: Sequence[dict[str, Any]], location: str) -> str:
    """Return a description of what a folder contains instead of the requested files."""
    if not others:
        return ""
    files = [_base_name(details) for details in others if details["type"] == "file"]
    kinds = sorted({posixpath.splitext(name)[1] or name for name in files})[:5]
    if len(files) == len(others):
        return f", only {', '.join(kinds)}"
    return f", only {', '.join([*kinds, 'folders'])}; for files in folders use a pattern: {join_url(location, '*/*')}"


@contextmanager
def open_file(url: str, start: int = 0) -> Iterator[IO[bytes]]:
    """Open a file for reading from the byte `start` on."""
    system, path = _filesystem(url)
    with tempfile.TemporaryDirectory() as folder:
        with storage_errors(url):
            if isinstance(system, HTTPFileSystem):
                system.get_file(path, f"{folder}/content")
                system, path = LocalFileSystem(), f"{folder}/content"
            raw = system.open(path, "rb", block_size=BLOCK_BYTES)
        with io.BufferedReader(raw, BLOCK_BYTES) as file:
            file.seek(start)
            yield file


def write_file(url: str, write: Callable[[Path], T]) -> T:
    """Let `write` fill a file that appears at `url` when it is complete: renamed in a folder, uploaded elsewhere."""
    system, path = _filesystem(url)
    if isinstance(system, LocalFileSystem):
        return write_atomically(Path(path), write)
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder, "content")
        result = write(temporary)
        system.put_file(str(temporary), path)
    return result


def list_names(folder: str) -> list[str]:
    """Return the names in a folder or under a prefix, nothing if it does not exist."""
    system, path = _filesystem(folder)
    system.invalidate_cache()
    with storage_errors(folder):
        if not system.exists(path):
            return []
        if not system.isdir(path):
            raise BadSetting(f"{folder} is a file; give a folder")
        return sorted(posixpath.basename(name.rstrip("/")) for name in system.ls(path, detail=False))


def make_folder(folder: str) -> None:
    system, path = _filesystem(folder)
    if isinstance(system, LocalFileSystem):  # in object storage a prefix exists with its first file
        Path(path).mkdir(parents=True, exist_ok=True)


def remove(url: str) -> None:
    system, path = _filesystem(url)
    system.rm_file(path)


def exists(url: str) -> bool:
    system, path = _filesystem(url)
    system.invalidate_cache()
    return bool(system.exists(path))


def join_url(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"


def absolute_url(location: str) -> str:
    """Return the location in a form that is valid in any working directory."""
    return location if "://" in location else str(Path(location).absolute())


def display_path(url: str) -> str:
    """Return a URL for messages: a local file as its path."""
    return url.removeprefix("file://")


def _filesystem(url: str) -> tuple[Any, str]:
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


def _stored_file(system: Any, details: dict[str, Any]) -> StoredFile:
    if details.get("size") is None:  # the listing of a web server has only names
        details = system.info(details["name"])
    version = next((str(details[name]) for name in VERSIONS if details.get(name)), "")
    cut = not isinstance(system, HTTPFileSystem)  # few web servers support range requests
    return StoredFile(str(system.unstrip_protocol(details["name"])), details.get("size") or 0, version, cut)


def _base_name(details: dict[str, Any]) -> str:
    return posixpath.basename(str(details["name"]).rstrip("/"))


def is_storage_error(error: BaseException) -> bool:
    """Return whether an exception comes from the storage; not all libraries raise OSError."""
    return isinstance(error, OSError) or type(error).__module__.partition(".")[0] in LIBRARIES


@contextmanager
def storage_errors(location: str) -> Iterator[None]:
    """Raise storage errors as BadInput with the location, in one line."""
    try:
        yield
    except FileNotFoundError as error:
        raise BadInput(f"{location} does not exist; check the path") from error
    except Exception as error:
        if not is_storage_error(error):
            raise
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise BadInput(f"{location} cannot be read ({reason})") from error
