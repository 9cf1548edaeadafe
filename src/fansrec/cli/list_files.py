"""Files of lists to continue: JSON lines, or a table with a header; recognized by their first character."""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import IO

from fansrec.api.many_lists import LISTS_AT_ONCE, Row, read_batches
from fansrec.data.list_objects import recognized
from fansrec.data.list_tables import read_table
from fansrec.errors import BadInput

BOM = b"\xef\xbb\xbf"
OTHER_FORMATS = {b"PAR1": "a Parquet file", b"\x1f\x8b": "compressed with gzip", b"PK\x03\x04": "a zip file"}


class CountedLines:
    """The lines of a file that may be a pipe, and how many bytes of it have been read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._bytes = file, 0
        self._pending: deque[bytes] = deque()
        self.start = b""  # the first line that is not empty
        while not self.start and (line := file.readline()):
            self._pending.append(line)
            self.start = line.removeprefix(BOM).strip()

    def readline(self) -> bytes:
        line = self._pending.popleft() if self._pending else self._file.readline()
        self._bytes += len(line)
        return line

    def tell(self) -> int:
        """Return how many bytes have been read."""
        return self._bytes

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")


def read_lists(lines: CountedLines, source: object, report: Callable[[str], object]) -> Iterator[list[Row]]:
    """Yield the lists of a file in batches, in the order of their first lines; `report` gets how a table is read."""
    for magic, what in OTHER_FORMATS.items():
        if lines.start.startswith(magic):
            raise BadInput(
                f"{source} is {what}; give JSON lines or CSV, or a file of them whose name ends in .gz or .zip"
            )
    if not lines.start or lines.start[:1] in b"[{":
        yield from read_batches(lines, source, recognized=recognized)
        return
    rows = read_table(lines, lines.start, source, report)
    while batch := list(islice(rows, LISTS_AT_ONCE)):
        yield batch
