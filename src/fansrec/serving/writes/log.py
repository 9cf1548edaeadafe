"""An append-only log: records with checksums that are on the disk when `append` returns."""

import os
import secrets
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic_core import to_json

from fansrec.errors import FansError
from fansrec.files import format_os_error
from fansrec.serving.writes.records import FORMAT, line_of, parse_line, raw_lines, recover, sync_folder

sync_data = getattr(os, "fdatasync", os.fsync)  # the size of the file is synchronized too


class NotStored(FansError):
    """Records that could not be made durable; none of them is in the log."""


class Log:
    """A log that one process writes. `open_log` creates or recovers its file."""

    def __init__(self, path: Path, id: str, last: int, size: int) -> None:
        self.path, self.id = path, id
        self.last = last  # number of the newest record
        self.size = size
        self.broken: str | None = None  # why nothing can be written any more
        self.sync_seconds = 0.0  # that the last append took
        self._file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        os.ftruncate(self._file, size)
        os.lseek(self._file, size, os.SEEK_SET)
        os.fsync(self._file)

    def append(self, contents: Sequence[bytes]) -> int:
        """Write records, JSON objects without `seq`, and synchronize; return the number of the first one.

        Raise NotStored if the disk is full or fails. The file then ends after the last record before these.
        """
        first = self.last + 1
        lines = b"".join([line_of(_numbered(content, first + n, first)) for n, content in enumerate(contents)])
        if self.broken:
            raise NotStored(self.broken)
        try:
            self._write(lines)
        except OSError as error:
            self._cut_back()
            raise NotStored(
                f"the write could not be stored ({error.strerror}); free space, then send it again"
            ) from error
        self.last, self.size = first + len(contents) - 1, self.size + len(lines)
        return first

    def _write(self, lines: bytes) -> None:
        left = memoryview(lines)
        while left:
            left = left[os.write(self._file, left) :]
        since = time.perf_counter()
        sync_data(self._file)
        self.sync_seconds = time.perf_counter() - since

    def _cut_back(self) -> None:
        """Remove what a failed write has left, so that the next one follows the last good record."""
        try:
            os.ftruncate(self._file, self.size)
            os.lseek(self._file, self.size, os.SEEK_SET)
            os.fsync(self._file)
        except OSError as error:
            self.broken = f"the log cannot be written any more ({format_os_error(error)}); restart the service"

    def close(self) -> None:
        os.close(self._file)


def open_log(path: Path) -> Log:
    """Return the log in a file, which is created if needed; an incomplete last write is cut off.

    The caller makes sure that no other process writes it. Raise BadArtifact if records in the middle are damaged.
    """
    if not path.exists():
        create_log(path, secrets.token_hex(8))
    header, last, size = recover(path)
    return Log(path, str(header.record.get("id")), last, size)


def create_log(path: Path, id: str, after: int = 0, compacted: int = 0) -> None:
    """Create an empty log whose first record will follow number `after`; up to `compacted` numbers may be missing."""
    header = {"fansrec_log": FORMAT, "id": id, "after": after, "compacted": compacted}
    temporary = path.with_name(f".{path.name}.new")  # a crash must not leave a log without a header
    with temporary.open("wb") as file:
        file.write(line_of(to_json(header)))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def rewrite_log(path: Path, after: int) -> None:
    """Replace a log by one without the records up to number `after`; the caller makes sure that nobody writes it."""
    header, _, end = recover(path)
    temporary = path.with_name(f".{path.name}.rest")
    create_log(temporary, str(header.record["id"]), after)
    try:
        with temporary.open("ab") as file:
            for line, _ in raw_lines(path, header.end, end):
                record = parse_line(line)
                if record is not None and record["seq"] > after:
                    file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def _numbered(content: bytes, seq: int, first: int) -> bytes:
    return b'{"seq":%d,"first":%d,%s' % (seq, first, content[1:])
