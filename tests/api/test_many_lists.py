"""Reading many lists in batches."""

import io
import json
import random

import pytest

from fansrec.api import many_lists as many
from fansrec.errors import BadInput


def lines(count: int) -> bytes:
    """Return short lists, empty lines, and a few lists longer than a block."""
    draw = random.Random(0)
    rows = [json.dumps(["x" * draw.randrange(1, 30)] * draw.choice([0, 1, 2, 3, 60])) for _ in range(count)]
    return "\n".join(row if draw.random() > 0.1 else "" for row in rows).encode()


@pytest.mark.parametrize("blocks", [1, 3])
def test_reading_from_a_block_gives_the_batches_of_the_whole_file(monkeypatch: pytest.MonkeyPatch, blocks: int) -> None:
    monkeypatch.setattr(many, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(many, "LISTS_AT_ONCE", 7)
    content, size, batches = lines(500), blocks * 1000, []
    for start in range(0, len(content), size):
        file = io.BytesIO(content)
        if start:
            file.seek(start - 1)
            file.readline()
        batches += many.read_batches(file, "lists", start + size)
    whole = list(many.read_batches(io.BytesIO(content), "lists"))
    assert batches == whole
    assert max(map(len, whole)) == 7 and sum(map(len, whole)) == sum(bool(line) for line in content.split(b"\n"))


def test_invalid_line_is_reported_with_its_line_number() -> None:
    with pytest.raises(BadInput, match="lists, line 42: neither an array"):
        list(many.read_batches(io.BytesIO(b'["a"]\n{}\n'), "lists", lines_before=lambda: 40))


def test_lines_before_are_counted_for_an_error_only() -> None:
    counted: list[int] = []
    lines = io.BytesIO(b'["a"]\n["b"]\n')
    assert len(next(many.read_batches(lines, "lists", lines_before=lambda: counted.append(1) or 0))) == 2  # type: ignore[func-returns-value]
    assert not counted
