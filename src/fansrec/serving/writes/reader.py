"""Reading a log while another process appends to it, or replaces it by one without its oldest records."""

import os
from collections.abc import Iterator
from pathlib import Path

from fansrec.errors import BadArtifact
from fansrec.serving.writes.records import Record, check_numbers, header_of, lines_of


class LogReader:
    """Yields each record of a log once, from a number on."""

    def __init__(self, path: Path, after: int = 0) -> None:
        self._path = path
        self.seq = after  # number of the newest record that was read
        self._open()
        self.id = self._id

    def _open(self) -> None:
        # Held and always read, so that a replacement cannot come between; unbuffered, since bytes at the end of the
        # file change if a write fails.
        self._file = self._path.open("rb", buffering=0)
        header = header_of(self._file, self._path)
        self._id, self.after = str(header.record["id"]), int(header.record["after"])
        self._position = header.end

    def read(self, last: int) -> Iterator[Record]:
        """Yield the records that follow, up to number `last`; raise BadArtifact if one of them is not there."""
        if not os.path.samestat(os.fstat(self._file.fileno()), os.stat(self._path)):
            self._file.close()
            self._open()
        if self._id != self.id or self.after > self.seq:
            raise BadArtifact(
                f"{self._path} has no writes up to number {self.after}, and a model does not contain those after "
                f"{self.seq}; serve the one that `fans compact` made, or use its option --contains"
            )
        if self.seq >= last:
            return
        for record, end in lines_of(self._file, self._position):
            check_numbers(record, self._path, self.seq)
            if record["seq"] > last:
                break
            self._position = end
            if record["seq"] > self.seq:
                self.seq = record["seq"]
                yield record
        if self.seq < last:
            raise BadArtifact(f"{self._path} ends at number {self.seq} instead of {last}; restore it from a copy")
