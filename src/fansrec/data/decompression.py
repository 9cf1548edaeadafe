"""Compressed input files: decompression with a size limit, and the check that text is UTF-8."""

import codecs
import gzip
import lzma
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from fansrec.errors import BadInput

CHUNK = 1 << 20
# The largest decompressed size is MIN_SIZE_LIMIT + MAX_RATIO * compressed size. Text compresses 5 to 20 times; a file
# that grows beyond the limit was made to fill a disk.
MIN_SIZE_LIMIT = 100_000_000
MAX_RATIO = 200

DAMAGE_ERRORS = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    zipfile.BadZipFile,
)


class PlainFile(NamedTuple):
    """An uncompressed file on disk, and the name whose extension determines its format."""

    path: Path
    name: str


@contextmanager
def decompressed(path: Path, content: str = "lists") -> Iterator[PlainFile]:
    """Yield a file decompressed from its gzip or zip; the temporary copy is removed after the block.

    `content` says in messages what the file should contain.
    """
    _check_file(path, content)
    suffix = path.suffix.lower()
    if suffix not in (".gz", ".zip"):
        yield PlainFile(path, path.name)
        return
    with tempfile.TemporaryDirectory(prefix="fans-") as folder:
        plain = Path(folder) / "content"
        name = _decompress(path, plain, "gzip" if suffix == ".gz" else "zip")
        if plain.stat().st_size == 0:
            raise BadInput(f"{path} is empty when decompressed; give a file that contains {content}")
        yield PlainFile(plain, name)


def _check_file(path: Path, content: str) -> None:
    if path.is_dir():
        raise BadInput(f"{path} is a folder; give one of its files")
    if not path.is_file():
        raise BadInput(f"there is no file {path}; check the path")
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise BadInput(f"{path} is empty; give a file that contains {content}")
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}); check its permissions") from error


def _decompress(path: Path, content: Path, kind: str) -> str:
    """Decompress the gzip or zip file `path` to `content`; return the name of the file inside."""
    try:
        if kind == "gzip":
            with gzip.open(path) as stream:
                _copy(stream, content, path)
            return path.stem
        with zipfile.ZipFile(path) as archive, archive.open(entry := _only_entry(archive, path)) as stream:
            _copy(stream, content, path)
        return PurePosixPath(entry.filename).name
    except DAMAGE_ERRORS as error:
        raise BadInput(f"{path} is not a complete {kind} file ({error}); download or compress it again") from error


def _only_entry(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    """Return the only file in the archive, not counting metadata of file managers."""
    entries = [entry for entry in archive.infolist() if not entry.is_dir() and not _is_metadata(entry.filename)]
    if len(entries) != 1:
        raise BadInput(f"{path} contains {len(entries)} files; a zip must contain exactly one")
    return entries[0]


def _is_metadata(name: str) -> bool:
    return any(part == "__MACOSX" or part.startswith(".") for part in PurePosixPath(name).parts)


def _copy(stream: IO[bytes] | gzip.GzipFile, content: Path, path: Path) -> None:
    """Copy and count the bytes: the size that a compressed file declares may be wrong."""
    limit = MIN_SIZE_LIMIT + MAX_RATIO * path.stat().st_size
    written = 0
    with content.open("wb") as file:
        while chunk := stream.read(CHUNK):
            written += len(chunk)
            if written > limit:
                raise BadInput(
                    f"{path} decompresses to more than {limit:,} bytes; decompress it yourself if you trust it"
                )
            file.write(chunk)


def check_utf8(path: Path, where: str) -> None:
    """Raise BadInput with the line of the first byte that is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with path.open("rb") as file:
        while True:
            chunk = file.read(CHUNK)
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                raise BadInput(f"{where}: line {line} is not UTF-8; save the file as UTF-8") from error
            if not chunk:
                return
            line += chunk.count(b"\n")
