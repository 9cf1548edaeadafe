"""Many lists as lines of JSON: read in batches and answered line by line. Memory use stays constant."""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TextIO

from fansrec.api.continuer import Continuer
from fansrec.api.popular import NONE, check_fallback
from fansrec.errors import BadInput

LISTS_AT_ONCE = 512
# No batch crosses a multiple of this many bytes of its file. A reader that starts at such a multiple makes the same
# batches as one that reads the whole file, and so the same lines, to the last digit of a score.
BLOCK_BYTES = 2**18
ENCODING_ERRORS = "backslashreplace"  # a lone surrogate, such as "\\ud800" in an id, is written as it was read
LINE = '{"id": 1, "items": ["a", "b"]} or ["a", "b"]'
NOT_RULES = ("k", "fallback", "explain")  # arguments of `Continuer.continue_lists` that are not rules

Row = dict[str, Any]  # `items` and, if the list has one, `id`


def write_answers(
    path: Path,
    batches: Iterable[list[Row]],
    continuer: Continuer,
    rules: dict[str, Any],
    report: Callable[[int], object] = lambda lists: None,
) -> dict[str, int]:
    """Write one line for each list of `batches`, in order; a list that cannot be continued gets one with the reason.

    `report` gets the number of lists after each batch. Return the number of `lists`, and how many answers are `empty`.
    """
    with path.open("w", encoding="utf-8", errors=ENCODING_ERRORS) as out:
        return print_answers(out, batches, continuer, rules, report)


def print_answers(
    out: TextIO,
    batches: Iterable[list[Row]],
    continuer: Continuer,
    rules: dict[str, Any],
    report: Callable[[int], object] = lambda lists: None,
) -> dict[str, int]:
    """Do the same as `write_answers` with an open file, which has all answers of a batch before the next is read."""
    lists = empty = 0
    for rows in batches:
        answers = _answer_rows(rows, continuer, rules)
        out.writelines(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers)
        out.flush()
        lists += len(rows)
        empty += sum(not answer["items"] for answer in answers)
        report(lists)
    return {"lists": lists, "empty": empty}


def _answer_rows(rows: list[Row], continuer: Continuer, rules: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the line of each list; `rules` are the arguments of `Continuer.continue_lists`."""
    k, fallback = rules["k"], rules.get("fallback", NONE)
    check_fallback(fallback)
    allowed = continuer.rules(**{name: value for name, value in rules.items() if name not in NOT_RULES})
    reasons = [_refusal(row["items"], continuer, k) for row in rows]
    accepted = [row["items"] for row, reason in zip(rows, reasons, strict=True) if reason is None]
    answers = iter(continuer.answers(accepted, k, allowed, fallback, rules.get("explain", False)))
    return [
        ({"id": row["id"]} if "id" in row else {})
        | (next(answers).to_line() if reason is None else {"items": [], "reason": reason})
        for row, reason in zip(rows, reasons, strict=True)
    ]


class Lines(Protocol):
    """What is needed of a file that is read line by line."""

    def readline(self) -> bytes: ...
    def tell(self) -> int: ...


def read_batches(
    lines: Lines,
    source: object,
    end: int | None = None,
    lines_before: Callable[[], int] = lambda: 0,
    recognized: Callable[[Row], Row] = lambda row: row,
) -> Iterator[list[Row]]:
    """Yield the rows of all lines, or of those that begin before the byte `end`, in batches.

    A line that is not a list is refused with its line number, to which `lines_before` adds the lines before these.
    `recognized` returns an object with the keys `items` and `id` in place of other names.
    """
    batch: list[Row] = []
    start = lines.tell()
    for number in count(1):
        line = lines.readline() if end is None or start < end else b""
        next_start = start + len(line)
        if line.strip():
            batch.append(_parse(line, source, number, lines_before, recognized))
        if batch and (not line or len(batch) == LISTS_AT_ONCE or next_start // BLOCK_BYTES > start // BLOCK_BYTES):
            yield batch
            batch = []
        if not line:
            return
        start = next_start


def _parse(
    line: bytes, source: object, number: int, lines_before: Callable[[], int], recognized: Callable[[Row], Row]
) -> Row:
    def refusal(reason: str) -> BadInput:
        return BadInput(f"{source}, line {lines_before() + number}: {reason}")  # counting lines takes long

    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise refusal(f"not JSON ({error}); write each list as {LINE}") from error
    row = {"items": row} if isinstance(row, list) else recognized(row) if isinstance(row, dict) else row
    if not isinstance(row, dict) or not isinstance(row.get("items"), list):
        raise refusal(f"neither an array of items nor an object with an array `items`; write it as {LINE}")
    return row


def _refusal(items: list[Any], continuer: Continuer, k: int) -> str | None:
    """Return why a list cannot be continued, if it cannot."""
    known, _ = continuer.vocabulary.indices(items)
    limit = continuer.engine.model.longest_sequence()
    if limit is not None and len(known) + k > limit:
        return f"the list is too long: {len(known)} items and {k} more are over the limit of {limit}"
    return None
