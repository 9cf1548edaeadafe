"""Many lists from a file to a file: streamed, so that memory does not grow with the file."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from fansrec.continuer import Answer, Continuer
from fansrec.errors import BadInput
from fansrec.files import refuse_existing, write_atomically

LISTS_AT_ONCE = 512


def continue_file(continuer: Continuer, source: Path, target: Path, rules: dict[str, Any]) -> None:
    """Every line of `source` gives one line of `target`, in order; the file appears when it is whole."""
    refuse_existing(target, "the continuations")
    if not target.parent.is_dir():
        raise BadInput(f"there is no folder {target.parent}; make it first")
    if not source.is_file():
        raise BadInput(f"there is no file {source}")
    with source.open("rb") as lines, _bar(source) as progress:
        task = progress.add_task("", total=source.stat().st_size, lists=0)
        done = 0

        def write(path: Path) -> None:
            nonlocal done
            with path.open("w", encoding="utf-8") as out:
                rows = _rows(lines, source)
                while batch := list(islice(rows, LISTS_AT_ONCE)):
                    _write(out, batch, continuer, rules)
                    done += len(batch)
                    progress.update(task, completed=lines.tell(), lists=done)

        write_atomically(target, write)
    Console(stderr=True).print(f"{target}: {done:,} lists", highlight=False, markup=False)


def _bar(source: Path) -> Progress:
    return Progress(
        TextColumn(source.name, markup=False),
        BarColumn(),
        TextColumn("{task.fields[lists]} lists"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _rows(lines: IO[bytes], source: Path) -> Iterator[dict[str, Any]]:
    """Rows with `items` and, if the line has one, `id`; `readline`, since iterating would hide how far we are."""
    number = 0
    while line := lines.readline():
        number += 1
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            row = {"items": row} if isinstance(row, list) else row
            if not isinstance(row["items"], list):
                raise TypeError("items is no array")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise BadInput(
                f'{source}, line {number}: neither an array of items nor {{"items": […]}} ({error})'
            ) from error
        yield row


def _write(out: IO[str], rows: list[dict[str, Any]], continuer: Continuer, rules: dict[str, Any]) -> None:
    """One hopeless list does not stop the others: it gets a line that says why."""
    reasons = [_hopeless(row["items"], continuer, rules["k"]) for row in rows]
    asked = [row["items"] for row, reason in zip(rows, reasons, strict=True) if reason is None]
    answers = iter(continuer.continue_lists(asked, **rules))
    for row, reason in zip(rows, reasons, strict=True):
        result = _line(next(answers)) if reason is None else {"items": [], "reason": reason}
        head = {"id": row["id"]} if "id" in row else {}
        out.write(json.dumps(head | result, ensure_ascii=False) + "\n")


def _hopeless(items: list[Any], continuer: Continuer, k: int) -> str | None:
    known, unknown = continuer.vocabulary.numbers(items)
    if unknown and not known:
        return "no item of the list is known"
    limit = continuer.engine.model.longest_sequence()
    if limit is not None and len(known) + k > limit:
        return f"the list is too long: {len(known)} items and {k} more are over the limit of {limit}"
    return None


def _line(answer: Answer) -> dict[str, Any]:
    line: dict[str, Any] = {"items": answer.items, "scores": [round(p.score, 6) for p in answer.positions]}
    extras = {"unknown": answer.unknown, "reason": answer.reason}
    return line | {name: value for name, value in extras.items() if value}
