"""Shards of lists cut into pieces: ranges of bytes whose lines are found by whoever reads them."""

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
from fansrec.cluster.storage import Stored, opened, plain
from fansrec.errors import BadInput

MOST_BYTES = 2**23  # of a piece: some seconds of work, so that little is lost with a worker
PIECES_A_WORKER = 8  # so that no worker is left with a long one at the end
MOST_PIECES = 20_000  # what the driver keeps an eye on; pieces of a larger input are larger
PARQUET = ".parquet"
ENDINGS = (".jsonl", PARQUET)


@dataclass(frozen=True)
class Piece:
    """The lines of `url` that begin at the bytes from `start` up to `end`; their answers go to the file `name`."""

    url: str
    start: int
    end: int | None  # None: the whole file
    name: str


def piece_bytes(files: Sequence[Stored], workers: int) -> int:
    total = sum(file.size for file in files)
    wanted = max(min(MOST_BYTES, total / (workers * PIECES_A_WORKER)), total / MOST_PIECES)
    return max(1, math.ceil(wanted / BLOCK_BYTES)) * BLOCK_BYTES


def cut(files: Sequence[Stored], size: int) -> list[Piece]:
    """All pieces, in order; the names of their answers sort the same way."""
    return [piece for number, file in enumerate(files) for piece in _cut(file, number, size)]


def _cut(file: Stored, number: int, size: int) -> Iterator[Piece]:
    stem = re.sub(r"[^\w.-]", "_", PurePosixPath(file.name).stem)
    names = (f"{number:06}-{stem}-{part:06}.jsonl" for part in count())
    if not file.cut or file.url.endswith(PARQUET):
        yield Piece(file.url, 0, None, next(names))
        return
    for start in range(0, max(file.size, 1), size):
        yield Piece(file.url, start, min(start + size, file.size), next(names))


@contextmanager
def batches_of(piece: Piece) -> Iterator[Iterator[list[Row]]]:
    """The lists of a piece, batch after batch."""
    with opened(piece.url, max(0, piece.start - 1)) as file:
        if piece.url.endswith(PARQUET):
            yield _parquet_batches(file, piece)
            return
        if piece.start:  # the line that began before is the piece before's
            file.readline()
        yield read_batches(file, plain(piece.url), piece.end, lambda: _lines_before(piece))


def _lines_before(piece: Piece) -> int:
    """Counted only when a line must be named."""
    if not piece.start:
        return 0
    with opened(piece.url) as file:
        lines = 0
        while file.tell() < piece.start and file.readline():
            lines += 1
        return lines


def _parquet_batches(file: IO[bytes], piece: Piece) -> Iterator[list[Row]]:
    import pyarrow.parquet as pq

    source = plain(piece.url)
    try:
        table = pq.ParquetFile(file)
        columns = [name for name in ("id", "items") if name in table.schema_arrow.names]
        if "items" not in columns:
            raise BadInput(f"{source} has no column items (it has {', '.join(table.schema_arrow.names)})")
        numbers = count(1)
        for batch in table.iter_batches(LISTS_AT_ONCE, columns=columns):
            yield [_parquet_row(row, f"{source}, row {next(numbers)}") for row in batch.to_pylist()]
    except (ValueError, OSError) as error:  # pyarrow's own errors are among them
        raise BadInput(f"{source} cannot be read as Parquet ({error})") from error


def _parquet_row(row: dict[str, Any], where: str) -> Row:
    if not isinstance(row["items"], list):
        raise BadInput(f"{where}: items is no array")
    try:
        json.dumps(row.get("id"))
    except TypeError:  # a date, say
        row["id"] = str(row["id"])
    return row
