"""Input files split into pieces: byte ranges of lines, or whole Parquet files."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import PurePosixPath
from typing import IO, Any

from fansrec.api.many_lists import BLOCK_BYTES, LISTS_AT_ONCE, Row, read_batches
from fansrec.cluster.storage import StoredFile, display_path, open_file
from fansrec.data.list_objects import recognized
from fansrec.errors import BadInput

MAX_PIECE_BYTES = 2**23  # some seconds of work, so that little is lost with a worker
PIECES_PER_WORKER = 8  # so that no worker has much left to do when the others are done
MAX_PIECES = 20_000  # that the driver tracks; pieces of a larger input are larger
PARQUET = ".parquet"
SUFFIXES = (".jsonl", PARQUET)


@dataclass(frozen=True)
class Piece:
    """The lines of `url` that start in the bytes `start` to `end`; their answers are written to the file `name`."""

    url: str
    start: int
    end: int | None  # None: the whole file
    name: str


def piece_bytes(files: Sequence[StoredFile], workers: int) -> int:
    """Return the size of a piece, a multiple of BLOCK_BYTES."""
    total = sum(file.size for file in files)
    size = max(min(MAX_PIECE_BYTES, total / (workers * PIECES_PER_WORKER)), total / MAX_PIECES)
    return max(1, math.ceil(size / BLOCK_BYTES)) * BLOCK_BYTES


def split_files(files: Sequence[StoredFile], size: int) -> list[Piece]:
    """Return all pieces in order, which is also the order of the names of their answers."""
    return [piece for number, file in enumerate(files) for piece in _split_file(file, number, size)]


def _split_file(file: StoredFile, number: int, size: int) -> Iterator[Piece]:
    stem = re.sub(r"[^\w.-]", "_", PurePosixPath(file.name).stem)
    names = (f"{number:06}-{stem}-{part:06}.jsonl" for part in count())
    if not file.cut or file.url.endswith(PARQUET):
        yield Piece(file.url, 0, None, next(names))
        return
    for start in range(0, max(file.size, 1), size):
        yield Piece(file.url, start, min(start + size, file.size), next(names))


@contextmanager
def open_batches(piece: Piece) -> Iterator[Iterator[list[Row]]]:
    """Open a piece and yield an iterator over its lists in batches."""
    with open_file(piece.url, max(0, piece.start - 1)) as file:
        if piece.url.endswith(PARQUET):
            yield _parquet_batches(file, piece)
            return
        if piece.start:  # a line that starts earlier belongs to the previous piece
            file.readline()
        yield read_batches(file, display_path(piece.url), piece.end, lambda: _lines_before(piece), recognized)


def _lines_before(piece: Piece) -> int:
    """Return the number of lines before the piece, for line numbers in messages."""
    if not piece.start:
        return 0
    with open_file(piece.url) as file:
        lines = 0
        while file.tell() < piece.start and file.readline():
            lines += 1
        return lines


def _parquet_batches(file: IO[bytes], piece: Piece) -> Iterator[list[Row]]:
    import pyarrow.parquet as pq

    source = display_path(piece.url)
    try:
        table = pq.ParquetFile(file)
        columns = [name for name in ("id", "items") if name in table.schema_arrow.names]
        if "items" not in columns:
            raise BadInput(f"{source} has no column items (columns: {', '.join(table.schema_arrow.names)}); rename one")
        numbers = count(1)
        for batch in table.iter_batches(LISTS_AT_ONCE, columns=columns):
            yield [_parquet_row(row, f"{source}, row {next(numbers)}") for row in batch.to_pylist()]
    except (ValueError, OSError) as error:  # including those of pyarrow
        raise BadInput(f"{source} cannot be read as Parquet ({error})") from error


def _parquet_row(row: dict[str, Any], where: str) -> Row:
    if not isinstance(row["items"], list):
        raise BadInput(f"{where}: items is not an array; write the items as an array")
    try:
        json.dumps(row.get("id"))
    except TypeError:  # for example a date
        row["id"] = str(row["id"])
    return row
