"""The lines of a log: one JSON object each, after the checksum of its bytes; and reading them from a file.

    5f3a91c2 {"seq":7,"first":6,"changes":[…]}

The first line is the header of the file. Every other line is a record with the next number (`seq`); `first` is the
number of the first record that was written together with it, before the same fsync.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from pydantic_core import from_json

from fansrec.errors import BadArtifact

FORMAT = 1
CHECKSUM = 8  # hexadecimal digits, and then a space
BLOCK_BYTES = 1 << 20
MAX_LINE_BYTES = 64 << 20  # a longer line is damage

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
    """Yield the lines from `start` up to `end`, or up to the first one that is damaged or incomplete."""
    for line, position in raw_lines(path, start, end):
        record = parse_line(line)
        if record is None:
            return
        yield Line(record, position)


def raw_lines(path: Path, start: int = 0, end: int | None = None) -> Iterator[tuple[bytes, int]]:
    """Yield every complete line without its newline, and the position after it."""
    rest, position = b"", start
    with path.open("rb") as file:
        file.seek(start)
        while block := file.read(BLOCK_BYTES if end is None else min(BLOCK_BYTES, max(0, end - file.tell()))):
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                position += len(line) + 1
                yield line, position
            if len(rest) > MAX_LINE_BYTES:
                return


def read_header(path: Path) -> Line:
    """Return the header of a log; raise BadArtifact if the file does not have one that can be read."""
    header = next(read_lines(path), None)
    found = None if header is None else header.record.get("fansrec_log")
    if header is None or not isinstance(found, int) or not isinstance(header.record.get("after"), int):
        raise BadArtifact(f"{path} is not a log of writes: its first line is damaged; restore the file from a copy")
    if found > FORMAT:
        raise BadArtifact(f"{path} has format {found}, and this fansrec reads up to {FORMAT}; upgrade fansrec")
    return header


def recover(path: Path) -> tuple[Line, int, int]:
    """Return the header of a log, its last number, and the position after its last record; the file stays as it is.

    What follows that position was never acknowledged: the records of one fsync of which not all reached the disk.
    Damage before later records raises BadArtifact.
    """
    header = read_header(path)
    last, good, damaged = int(header.record["after"]), header.end, False
    for line, position in raw_lines(path, header.end):
        record = parse_line(line)
        if record is not None and not damaged and _follows(record, last, header.record):
            last, good = int(record["seq"]), position
        elif record is None or record.get("first", 0) <= last + 1:
            damaged = True
        else:
            raise BadArtifact(
                f"{path} is damaged after record {last} (byte {good:,}), and later records are there; restore the "
                f"file from a copy, or cut it off there with `truncate --size {good}`: that loses the later records"
            )
    return header, last, good


def _follows(record: Record, last: int, header: Record) -> bool:
    """Return whether a record may come after the one numbered `last`: only a compacted part has gaps."""
    seq = record.get("seq")
    return isinstance(seq, int) and (seq == last + 1 or last < seq <= int(header.get("compacted", 0)))


def sync_folder(folder: Path) -> None:
    """Make the creation, renaming or removal of files in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
