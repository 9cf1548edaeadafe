"""A source split into pieces that are read independently, in the order of the source."""

import gzip
import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from fansrec import __version__
from fansrec.cluster.storage import StoredFile, display_path, list_files, open_file, storage_errors
from fansrec.data.decompression import DAMAGE_ERRORS, PlainFile, decompressed
from fansrec.data.reading import Reading
from fansrec.errors import BadInput

PARQUET, JSONL = (".parquet", ".pq"), (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
SPLIT_BYTES = 1 << 28  # larger files are split if possible
PIECE_ROWS = 10_000_000  # of a Parquet file
PIECE_BYTES = 1 << 27  # of JSON lines
BLOCK_BYTES = 1 << 20  # read at once: a line may have any length
PIECE_FORMAT = 4  # of the files that are kept of a piece


@dataclass(frozen=True)
class Piece:
    """A file, or its part from `first` to `end`: rows of a Parquet file, bytes of JSON lines."""

    file: StoredFile
    first: int = 0
    end: int | None = None

    @property
    def where(self) -> str:
        """The location for messages; row and line numbers count from it."""
        unit = "row" if self.file.name.endswith(PARQUET) else "byte"
        return display_path(self.file.url) + (f" from {unit} {self.first + 1:,} on" if self.first else "")

    def key(self, reading: Reading) -> str:
        """Return the name of the files that are kept of the piece; it depends on the piece and on how it is read."""
        parts = [PIECE_FORMAT, __version__, asdict(self), asdict(reading)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def split_source(source: str) -> list[Piece]:
    """Return the pieces of a file, of the Parquet or JSONL files in a folder, or of the files of a pattern."""
    return [piece for file in shard_files(source) for piece in _split_file(file)]


def shard_files(source: str) -> list[StoredFile]:
    """Return a file, the Parquet or JSONL files in a folder, or the files of a pattern."""
    files = list_files(source, (*PARQUET, *JSONL))
    kinds = {kind for file in files for kind in (PARQUET, JSONL) if file.name.lower().endswith(kind)}
    if len(kinds) > 1:
        raise BadInput(
            f"{source} contains both Parquet and JSON lines; give a pattern for one of them, such as {source}/*.parquet"
        )
    return [file for file in files if file.size] or files  # some writers create empty files for shards without lists


def _split_file(file: StoredFile) -> list[Piece]:
    ends: list[int] = []
    if file.size > SPLIT_BYTES and file.cut and file.name.endswith(PARQUET) and is_local(file):
        ends = _row_ends(file)
    elif file.size > SPLIT_BYTES and file.cut and file.name.endswith((".jsonl", ".ndjson")):
        ends = [*range(PIECE_BYTES, file.size, PIECE_BYTES), file.size]
    return [Piece(file, first, end) for first, end in zip([0, *ends], ends, strict=False)] or [Piece(file)]


def _row_ends(file: StoredFile) -> list[int]:
    """Return where pieces of whole row groups end; nothing for a damaged file, which is refused when it is read."""
    try:
        groups = pq.ParquetFile(display_path(file.url)).metadata
    except (OSError, pa.ArrowException):
        return []
    ends, row, last = [], 0, 0
    for group in range(groups.num_row_groups):
        row += groups.row_group(group).num_rows
        if row - last >= PIECE_ROWS:
            ends.append(row)
            last = row
    return ends if row == last else [*ends, row]


def is_local(file: StoredFile) -> bool:
    return file.url.startswith("file://")


@contextmanager
def local_copy(piece: Piece) -> Iterator[PlainFile | None]:
    """Yield the piece's file on this machine, decompressed; of JSON lines only the piece itself, None if blank."""
    with TemporaryDirectory(prefix="fans-") as folder:
        path = Path(display_path(piece.file.url))
        is_line_range = piece.end is not None and not piece.file.name.endswith(PARQUET)
        if is_line_range or not is_local(piece.file):
            path = Path(folder) / piece.file.name
            with storage_errors(display_path(piece.file.url)):
                _copy(piece, path, is_line_range)
        if _is_blank(path):
            yield None
            return
        with decompressed(path) as plain_file:
            yield plain_file


def _copy(piece: Piece, path: Path, is_line_range: bool) -> None:
    with path.open("wb") as copy, open_file(piece.file.url, max(0, piece.first - 1)) as file:
        if is_line_range:
            copy.writelines(_lines(file, piece))
        else:
            shutil.copyfileobj(file, copy, BLOCK_BYTES)


def _is_blank(path: Path) -> bool:
    """Return whether JSON lines contain no list: an empty file, or a piece in which no line starts."""
    if not path.name.lower().endswith(JSONL):
        return False
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", errors="replace") as file:
            return not any(text.strip() for text in iter(lambda: file.read(BLOCK_BYTES), ""))
    except DAMAGE_ERRORS:  # refused with a better message when it is read
        return False


def _lines(file: Iterator[bytes], piece: Piece) -> Iterator[bytes]:
    """Yield the lines that start inside the piece; the file is positioned one byte before it."""
    assert piece.end is not None
    at = piece.first
    if piece.first:
        at += len(next(file, b"")) - 1
    while at < piece.end and (line := next(file, b"")):
        yield line
        at += len(line)
