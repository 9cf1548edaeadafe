"""The lines of a log: one JSON object each, after the checksum of its bytes; and reading them from a file.

    5f3a91c2 {"seq":7,"first":6,"changes":[…]}

The first line is the header of the file. A record is a line with the next number (`seq`); `first` is the number of the
first record that was written together with it, before the same fsync. A mark is a line without a number:
`{"synced":7}` says that the records up to number 7 were synchronized before it was written.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeGuard
from zlib import crc32

from pydantic_core import from_json

from fansrec.errors import BadArtifact

FORMAT = 1
CHECKSUM = 8  # hexadecimal digits, and then a space
BLOCK_BYTES = 1 << 20
MAX_LINE_BYTES = 64 << 20  # a longer line is damage
MAX_NUMBER = 1 << 53  # of a record: every reader of JSON has it exactly
MARK = "synced"

Record = dict[str, Any]


class Line(NamedTuple):
    """A line of a log whose checksum is right."""

    record: Record
    end: int  # position in the file after its newline


def line_of(content: bytes) -> bytes:
    """Return the line of a JSON object."""
    return b"%08x %s\n" % (crc32(content), content)


def parse_line(line: bytes) -> Record | None:
    """Return the JSON object of a line without its newline, None if the line is damaged."""
    content = line[CHECKSUM + 1 :]
    if line[: CHECKSUM + 1] != b"%08x " % crc32(content):
        return None
    try:
        record = from_json(content)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def read_lines(path: Path, start: int = 0, end: int | None = None) -> Iterator[Line]:
    """Yield the header and the records from `start` up to `end`, or up to the first damaged or incomplete line."""
    with path.open("rb") as file:
        yield from lines_of(file, start, end)


def lines_of(file: BinaryIO, start: int = 0, end: int | None = None) -> Iterator[Line]:
    """Yield what `read_lines` yields, from an open file."""
    for line, position in _raw_lines_of(file, start, end):
        record = parse_line(line)
        if record is None:
            return
        if not is_mark(record):
            yield Line(record, position)


def raw_lines(path: Path, start: int = 0, end: int | None = None) -> Iterator[tuple[bytes, int]]:
    """Yield every complete line without its newline, and the position after it."""
    with path.open("rb") as file:
        yield from _raw_lines_of(file, start, end)


def _raw_lines_of(file: BinaryIO, start: int, end: int | None) -> Iterator[tuple[bytes, int]]:
    rest, position = b"", start
    file.seek(start)
    while block := file.read(BLOCK_BYTES if end is None else min(BLOCK_BYTES, max(0, end - file.tell()))):
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            position += len(line) + 1
            yield line, position
        if len(rest) > MAX_LINE_BYTES:
            return


def header_of(file: BinaryIO, path: Path) -> Line:
    """Return the header of a log, `file`, which is open; raise BadArtifact if it does not have one that can be read."""
    header = next(lines_of(file), None)
    record = {} if header is None else header.record
    format_ = record.get("fansrec_log")
    if _is_number(format_) and format_ > FORMAT:
        raise BadArtifact(f"{path} has format {format_}, and this fansrec reads up to {FORMAT}; upgrade fansrec")
    numbers = format_, record.get("after"), record.get("compacted", 0)
    if header is None or not all(map(_is_number, numbers)) or not isinstance(record.get("id"), str):
        raise BadArtifact(f"{path} is not a log of writes: its first line is damaged; restore the file from a copy")
    return header


def is_mark(record: Record) -> bool:
    """Return whether a line says up to which number the records are synchronized, instead of being a record."""
    return MARK in record and "seq" not in record


def check_numbers(record: Record, path: Path, last: int) -> None:
    """Raise BadArtifact if the line after record `last`, whose checksum is right, is neither a record nor a mark."""
    seq, first = record.get("seq"), record.get("first")
    right = _is_number(record[MARK]) if is_mark(record) else _is_number(first) and _is_number(seq) and 0 < first <= seq
    if not right:
        raise BadArtifact(
            f"{path} has a line after record {last} that fansrec does not write: its numbers are missing or wrong; "
            "restore the file from a copy"
        )


def _is_number(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= MAX_NUMBER


class Recovered(NamedTuple):
    """What can be read of a log."""

    header: Line
    last: int  # number of the newest record
    end: int  # position in the file after the last good line
    synced: int  # number of the newest record of which the file says that it is synchronized


def recover(path: Path) -> Recovered:
    """Return what can be read of a log; the file stays as it is.

    What follows the end was never acknowledged: the records of one fsync of which not all reached the disk. Damage
    before later records raises BadArtifact.
    """
    with path.open("rb") as file:
        header = header_of(file, path)
    last = synced = int(header.record["after"])
    good, damaged = header.end, False
    for line, position in raw_lines(path, header.end):
        record = parse_line(line)
        if record is None:
            damaged = True
            continue
        check_numbers(record, path, last)
        if not damaged and is_mark(record) and record[MARK] <= last:
            synced, good = max(synced, record[MARK]), position
        elif not damaged and not is_mark(record) and _follows(record, last, header.record):
            last, synced, good = record["seq"], max(synced, record["first"] - 1), position
        elif not is_mark(record) and record["first"] <= last + 1 < record["seq"]:
            damaged = True  # a record before it, of the same fsync, is missing
        else:
            raise BadArtifact(
                f"{path} is damaged after record {last} (byte {good:,}), and later records are there; restore the "
                f"file from a copy, or cut it off there with `truncate --size {good}`: that loses the later records"
            )
    return Recovered(header, last, good, synced)


def _follows(record: Record, last: int, header: Record) -> bool:
    """Return whether a record may come after the one numbered `last`: only a compacted part has gaps."""
    return bool(record["seq"] == last + 1 or last < record["seq"] <= header.get("compacted", 0))


def sync_folder(folder: Path) -> None:
    """Make the creation, renaming or removal of files in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
