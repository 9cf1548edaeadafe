"""Many lists as lines of JSON: what a line holds, and the line that answers it. Streamed, so that memory stays flat."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import IO, Any, NamedTuple

from fansrec.api.continuer import Answer, Continuer
from fansrec.errors import BadInput

LISTS_AT_ONCE = 512
# No batch reaches over a multiple of so many bytes of its file: whoever begins at one makes the same batches as who
# reads the whole file, and so the same lines, to the last digit of a score.
BLOCK_BYTES = 2**18
ODD_TEXT = "backslashreplace"  # half a character, as "\\ud800" in an id, goes out as it came in

Row = dict[str, Any]  # `items` and, if the list has one, `id`


class Answered(NamedTuple):
    lines: list[str]
    empty: int  # how many of them hold no item, but a reason


def answered(rows: list[Row], continuer: Continuer, rules: dict[str, Any]) -> Answered:
    """One line for each row, in order."""
    contents = _contents(rows, continuer, rules)
    lines = [json.dumps(content, ensure_ascii=False) + "\n" for content in contents]
    return Answered(lines, sum(not content["items"] for content in contents))


def read_batches(
    lines: IO[bytes], source: object, end: int | None = None, before: Callable[[], int] = lambda: 0
) -> Iterator[list[Row]]:
    """The rows of all lines, or of those that begin before the byte `end`, in batches.

    A line that is no list is refused by its number, to which `before` adds the lines that came before these.
    """
    batch: list[Row] = []
    at = lines.tell()
    for number in count(1):
        line = lines.readline() if end is None or at < end else b""
        beyond = at + len(line)
        if line.strip():
            batch.append(_row(line, source, number, before))
        if batch and (not line or len(batch) == LISTS_AT_ONCE or beyond // BLOCK_BYTES > at // BLOCK_BYTES):
            yield batch
            batch = []
        if not line:
            return
        at = beyond


def _row(line: bytes, source: object, number: int, before: Callable[[], int]) -> Row:
    try:
        row = json.loads(line)
        row = {"items": row} if isinstance(row, list) else row
        if not isinstance(row["items"], list):
            raise TypeError("items is no array")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(
            f'{source}, line {before() + number}: neither an array of items nor {{"items": […]}} ({error})'
        ) from error
    return dict(row)


def _contents(rows: list[Row], continuer: Continuer, rules: dict[str, Any]) -> list[dict[str, Any]]:
    """One hopeless list does not stop the others: its line says why."""
    reasons = [_hopeless(row["items"], continuer, rules["k"]) for row in rows]
    asked = [row["items"] for row, reason in zip(rows, reasons, strict=True) if reason is None]
    answers = iter(continuer.continue_lists(asked, **rules))
    return [
        ({"id": row["id"]} if "id" in row else {})
        | (_content(next(answers)) if reason is None else {"items": [], "reason": reason})
        for row, reason in zip(rows, reasons, strict=True)
    ]


def _hopeless(items: list[Any], continuer: Continuer, k: int) -> str | None:
    known, unknown = continuer.vocabulary.indices(items)
    if unknown and not known:
        return "no item of the list is known"
    limit = continuer.engine.model.longest_sequence()
    if limit is not None and len(known) + k > limit:
        return f"the list is too long: {len(known)} items and {k} more are over the limit of {limit}"
    return None


def _content(answer: Answer) -> dict[str, Any]:
    line: dict[str, Any] = {"items": answer.items, "scores": [round(p.score, 6) for p in answer.positions]}
    extras = {"unknown": answer.unknown, "reason": answer.reason}
    return line | {name: value for name, value in extras.items() if value}
