"""A source cut into pieces that are read apart, in the order of the whole."""

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
from fansrec.cluster.storage import Stored, listed, opened, plain, readable_place
from fansrec.data.columns import Columns
from fansrec.data.unpacking import DAMAGE, Unpacked, unpacked
from fansrec.errors import BadInput

PARQUET, JSONL = (".parquet", ".pq"), (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
LARGE = 1 << 28  # bytes of a file that is cut, where it can be cut
ROWS = 10_000_000  # of a Parquet file, and BYTES of JSON lines, in one piece
BYTES = 1 << 27
BLOCK = 1 << 20  # read at once: a line may be without end


@dataclass(frozen=True)
class Piece:
    """A file, or the part of it from `first` to `end`: rows of a Parquet file, bytes of JSON lines."""

    file: Stored
    first: int = 0
    end: int | None = None

    @property
    def where(self) -> str:
        """For messages; rows and lines are then counted from there."""
        unit = "row" if self.file.name.endswith(PARQUET) else "byte"
        return plain(self.file.url) + (f" from {unit} {self.first + 1:,} on" if self.first else "")

    def key(self, columns: Columns, split_by: str | None) -> str:
        """What is read out of a piece is kept under this name: it changes with the piece and with how it is read."""
        told = [__version__, asdict(self), asdict(columns), split_by]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]


def pieces_of(source: str) -> list[Piece]:
    """All pieces of a file, of the Parquet or JSONL shards in a folder, or of a pattern."""
    files = listed(source, (*PARQUET, *JSONL))
    kinds = {kind for file in files for kind in (PARQUET, JSONL) if file.name.lower().endswith(kind)}
    if len(kinds) > 1:
        raise BadInput(
            f"{source} holds both Parquet and JSON lines; give a pattern for one of them, as {source}/*.parquet"
        )
    filled = [file for file in files if file.size] or files  # some writers leave shards without a list empty
    return [piece for file in filled for piece in _cut(file)]


def _cut(file: Stored) -> list[Piece]:
    ends: list[int] = []
    if file.size > LARGE and file.cut and file.name.endswith(PARQUET) and is_local(file):
        ends = _row_ends(file)
    elif file.size > LARGE and file.cut and file.name.endswith((".jsonl", ".ndjson")):
        ends = [*range(BYTES, file.size, BYTES), file.size]
    return [Piece(file, first, end) for first, end in zip([0, *ends], ends, strict=False)] or [Piece(file)]


def _row_ends(file: Stored) -> list[int]:
    """Where pieces of whole row groups end; none for a damaged file, which is refused where it is read."""
    try:
        groups = pq.ParquetFile(plain(file.url)).metadata
    except (OSError, pa.ArrowException):
        return []
    ends, row, last = [], 0, 0
    for group in range(groups.num_row_groups):
        row += groups.row_group(group).num_rows
        if row - last >= ROWS:
            ends.append(row)
            last = row
    return ends if row == last else [*ends, row]


def is_local(file: Stored) -> bool:
    return file.url.startswith("file://")


@contextmanager
def fetched(piece: Piece) -> Iterator[Unpacked | None]:
    """The piece's file on this machine, out of its gzip or zip; of JSON lines only the piece itself, None if blank."""
    with TemporaryDirectory(prefix="fans-") as folder:
        path = Path(plain(piece.file.url))
        cut_lines = piece.end is not None and not piece.file.name.endswith(PARQUET)
        if cut_lines or not is_local(piece.file):
            path = Path(folder) / piece.file.name
            with readable_place(plain(piece.file.url)):
                _copy(piece, path, cut_lines)
        if _is_blank(path):
            yield None
            return
        with unpacked(path) as plain_file:
            yield plain_file


def _copy(piece: Piece, path: Path, cut_lines: bool) -> None:
    with path.open("wb") as copy, opened(piece.file.url, max(0, piece.first - 1)) as file:
        if cut_lines:
            copy.writelines(_lines(file, piece))
        else:
            shutil.copyfileobj(file, copy, BLOCK)


def _is_blank(path: Path) -> bool:
    """JSON lines without a list: an empty shard, or a piece in which no line begins."""
    if not path.name.lower().endswith(JSONL):
        return False
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", errors="replace") as file:
            return not any(text.strip() for text in iter(lambda: file.read(BLOCK), ""))
    except DAMAGE:  # refused, in better words, where it is read
        return False


def _lines(file: Iterator[bytes], piece: Piece) -> Iterator[bytes]:
    """The lines that begin inside the piece; the file stands one byte before it, at the end of a line perhaps."""
    assert piece.end is not None
    at = piece.first
    if piece.first:
        at += len(next(file, b"")) - 1
    while at < piece.end and (line := next(file, b"")):
        yield line
        at += len(line)
