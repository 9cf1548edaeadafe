"""Bounded reading of JSON lines from untrusted folders: the rows of items and of lists."""

from collections.abc import Iterable, Iterator, Mapping
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any

from fansrec.files import parse_json

BLOCK_BYTES = 1 << 20
MAX_LINE_BYTES = 1 << 20  # JSON of one row
MAX_STRING_BYTES = 1 << 12  # an id, a name or a group: an answer may contain thousands of them


def read_json_lines(path: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a JSON lines file in blocks, which takes a third of the time of parsing line by line."""
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            end = file.readline(MAX_LINE_BYTES)
            if len(end) == MAX_LINE_BYTES:
                raise ValueError(f"{path.name} has a line of more than {MAX_LINE_BYTES:,} bytes")
            lines = (block + end).removesuffix(b"\n")
            rows = parse_json(b"[" + lines.replace(b"\n", b",") + b"]")
            if len(rows) != lines.count(b"\n") + 1:
                raise ValueError(f"{path.name} has lines that are not one row each")
            yield rows


def json_lines(rows: Iterable[Mapping[str, str | int]]) -> bytes:
    """Return rows of texts and whole numbers as JSON lines, in a third of the time that `json.dumps` takes."""
    lines = (
        ", ".join(
            f"{encode_basestring(key)}: {encode_basestring(value) if isinstance(value, str) else value}"
            for key, value in row.items()
        )
        for row in rows
    )
    return "".join([f"{{{line}}}\n" for line in lines]).encode()
