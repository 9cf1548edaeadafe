"""Files as they come: gzipped, zipped or plain, checked before anything is read from them."""

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
# What a packed file may grow to. Text packs 5 to 20 times; what grows beyond this was made to fill a disk.
GROWTH_FLOOR = 100_000_000
GROWTH_FACTOR = 200

DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    NotImplementedError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    zipfile.BadZipFile,
)


class Unpacked(NamedTuple):
    """A plain file on disk, and the name that tells its format."""

    path: Path
    name: str


@contextmanager
def unpacked(path: Path) -> Iterator[Unpacked]:
    """The content of a file, out of its gzip or zip; what was unpacked is removed when the block ends."""
    _refuse_what_is_no_file(path)
    packed = path.suffix.lower()
    if packed not in (".gz", ".zip"):
        yield Unpacked(path, path.name)
        return
    with tempfile.TemporaryDirectory(prefix="fans-") as folder:
        content = Path(folder) / "content"
        name = _unpack_zip(path, content) if packed == ".zip" else _unpack_gzip(path, content)
        if content.stat().st_size == 0:
            raise BadInput(f"{path} is empty once unpacked; give a file with lists in it")
        yield Unpacked(content, name)


def _refuse_what_is_no_file(path: Path) -> None:
    if path.is_dir():
        raise BadInput(f"{path} is a folder; give one of its files")
    if not path.is_file():
        raise BadInput(f"there is no file {path}; check the path")
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise BadInput(f"{path} is empty; give a file with lists in it")
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}); check its permissions") from error


def _unpack_gzip(path: Path, content: Path) -> str:
    try:
        with gzip.open(path) as stream:
            _copy(stream, content, path)
    except DAMAGE as error:
        raise BadInput(f"{path} is no whole gzip file ({error}); fetch or pack it again") from error
    return path.stem


def _unpack_zip(path: Path, content: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            entry = _only_entry(archive, path)
            with archive.open(entry) as stream:
                _copy(stream, content, path)
    except DAMAGE as error:
        raise BadInput(f"{path} is no whole zip file ({error}); fetch or pack it again") from error
    return PurePosixPath(entry.filename).name


def _only_entry(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    """The one file in the archive that is not the litter of a file manager."""
    entries = [entry for entry in archive.infolist() if not entry.is_dir() and not _is_litter(entry.filename)]
    if len(entries) != 1:
        raise BadInput(f"{path} holds {len(entries)} files; a zip must hold exactly one")
    return entries[0]


def _is_litter(name: str) -> bool:
    return any(part == "__MACOSX" or part.startswith(".") for part in PurePosixPath(name).parts)


def _copy(stream: IO[bytes] | gzip.GzipFile, content: Path, path: Path) -> None:
    """Copy and count: the size a packed file declares may be a lie, so only the stream is believed."""
    limit = GROWTH_FLOOR + GROWTH_FACTOR * path.stat().st_size
    written = 0
    with content.open("wb") as file:
        while chunk := stream.read(CHUNK):
            written += len(chunk)
            if written > limit:
                raise BadInput(f"{path} unpacks to more than {limit:,} bytes; unpack it yourself if you trust it")
            file.write(chunk)


def refuse_other_than_utf8(path: Path, where: str) -> None:
    """Stop at the first byte that is not UTF-8, and name its line."""
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
