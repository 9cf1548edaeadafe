"""An append-only log: records with checksums that are on the disk when `append` returns."""

import os
import secrets
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic_core import to_json

from fansrec.errors import BadArtifact, FansError
from fansrec.files import format_os_error
from fansrec.serving.writes.records import (
    FORMAT,
    MARK,
    Recovered,
    is_mark,
    line_of,
    parse_line,
    raw_lines,
    recover,
    sync_folder,
)

sync_data = getattr(os, "fdatasync", os.fsync)  # the size of the file is synchronized too


class NotStored(FansError):
    """Records that could not be made durable; none of them is in the log."""


class Log:
    """A log that one process writes. `open_log` creates or recovers its file."""

    def __init__(self, path: Path, found: Recovered) -> None:
        self.path, self.id = path, str(found.header.record["id"])
        self.after = int(found.header.record["after"])  # number of the newest record that was dropped
        self.last = found.last  # number of the newest record
        self.synced = found.synced  # up to which the file says that its records are synchronized
        self.size = found.end
        self.broken: str | None = None  # why nothing can be written any more
        self.sync_seconds = 0.0  # that the last append took
        self._file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        os.ftruncate(self._file, self.size)
        os.lseek(self._file, self.size, os.SEEK_SET)
        os.fsync(self._file)

    def append(self, contents: Sequence[bytes]) -> int:
        """Write records, JSON objects without `seq`, and synchronize; return the number of the first one.

        Raise NotStored if the disk is full or fails. The file then ends after the last record before these.
        """
        first = self.last + 1
        lines = b"".join([line_of(_numbered(content, first + n, first)) for n, content in enumerate(contents)])
        self._store(lines)
        self.last, self.synced = first + len(contents) - 1, first - 1
        return first

    @property
    def needs_mark(self) -> bool:
        """Whether the file does not say yet that its newest records are synchronized, and can be written."""
        return self.synced < self.last and self.broken is None

    def mark_synced(self) -> None:
        """Append a mark if the log needs one: with it, a copy of the log is known to have its last records for good.

        Raise NotStored as `append` does.
        """
        if self.needs_mark:
            self._store(_mark(self.last))
            self.synced = self.last

    def drop(self, after: int) -> None:
        """Replace the file by one without the records up to number `after`.

        A failure before the new file gets the name of the log leaves the log as it is, a later one breaks it: records
        must not be appended to a file that has lost its name, or may lose it in a crash. Both are raised.
        """
        if self.broken:
            raise NotStored(self.broken)
        if (after := min(after, self.last)) <= self.after:
            return
        temporary = self.path.with_name(f".{self.path.name}.rest")
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            other = _write_rest(self.path, temporary, after, self.last)
            try:
                size = os.fstat(other).st_size
                temporary.replace(self.path)
                self._file, other = other, self._file
                self.after, self.synced, self.size = after, self.last, size
                os.fsync(folder)
            except OSError as error:
                self._break(error)
                raise
            finally:
                os.close(other)
        finally:
            os.close(folder)

    def _store(self, lines: bytes) -> None:
        if self.broken:
            raise NotStored(self.broken)
        try:
            self._write(lines)
        except OSError as error:
            self._cut_back()
            raise NotStored(
                f"the write could not be stored ({error.strerror}); free space, then send it again"
            ) from error
        self.size += len(lines)

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
            self._break(error)

    def _break(self, error: OSError) -> None:
        self.broken = f"the log cannot be written any more ({format_os_error(error)}); restart the service"

    def close(self) -> None:
        self.broken = "the log is closed, since the service stops; send the write again"
        os.close(self._file)


def open_log(path: Path) -> Log:
    """Return the log in a file, which is created if needed; an incomplete last write is cut off.

    The caller makes sure that no other process writes it. Raise BadArtifact if records in the middle are damaged.
    """
    if not path.exists():
        create_log(path, secrets.token_hex(8))
    return Log(path, recover(path))


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


def _write_rest(path: Path, temporary: Path, after: int, last: int) -> int:
    """Write the log of a path without the records up to number `after`, synchronize it, and return the open file."""
    found = recover(path)
    if found.last != last:
        raise BadArtifact(f"{path} ends at number {found.last} instead of {last}; restore it from a copy")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(file, "wb", closefd=False) as writing:
            writing.write(line_of(to_json(found.header.record | {"after": after})))
            for line, _ in raw_lines(path, found.header.end, found.end):
                record = parse_line(line)
                if record is not None and not is_mark(record) and record["seq"] > after:
                    writing.write(line + b"\n")
            if after < last:
                writing.write(_mark(last))  # all of them are synchronized below, before anyone sees the file
        os.fsync(file)
    except BaseException:
        os.close(file)
        temporary.unlink(missing_ok=True)
        raise
    return file


def _mark(seq: int) -> bytes:
    return line_of(b'{"%s":%d}' % (MARK.encode(), seq))


def _numbered(content: bytes, seq: int, first: int) -> bytes:
    return b'{"seq":%d,"first":%d,%s' % (seq, first, content[1:])
