"""Many lists from a file to a file: streamed, so that memory does not grow with the file."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from fansrec.continuer import Answer, Continuer
from fansrec.errors import BadInput, UnknownItems
from fansrec.files import refuse_existing, write_atomically

LISTS_AT_ONCE = 512


def continue_file(continuer: Continuer, source: Path, target: Path, rules: dict[str, Any]) -> None:
    """Every line of `source` gives one line of `target`, in order; the file appears when it is whole."""
    refuse_existing(target, "the continuations")
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
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(
                f'{source}, line {number}: neither an array of items nor {{"items": […]}} ({error})'
            ) from error
        yield row


def _write(out: IO[str], rows: list[dict[str, Any]], continuer: Continuer, rules: dict[str, Any]) -> None:
    known = [row for row in rows if not row["items"] or continuer.vocabulary.numbers(row["items"])[0]]
    answers = iter(continuer.continue_lists([row["items"] for row in known], **rules))
    lost = {id(row) for row in rows} - {id(row) for row in known}
    for row in rows:
        result = _unknown(row) if id(row) in lost else _line(next(answers))
        head = {"id": row["id"]} if "id" in row else {}
        out.write(json.dumps(head | result, ensure_ascii=False) + "\n")


def _line(answer: Answer) -> dict[str, Any]:
    line: dict[str, Any] = {"items": answer.items, "scores": [round(p.score, 6) for p in answer.positions]}
    extras = {"unknown": answer.unknown, "reason": answer.reason}
    return line | {name: value for name, value in extras.items() if value}


def _unknown(row: dict[str, Any]) -> dict[str, Any]:
    """One hopeless list does not stop the others."""
    return {"items": [], "unknown": row["items"], "reason": str(UnknownItems("no item of the list is known"))}
