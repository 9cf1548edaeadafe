"""Many lists from a file to a file."""

from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from fansrec.api.continuer import Continuer
from fansrec.api.many_lists import ENCODING_ERRORS, answer_rows, read_batches
from fansrec.cli.terminal import Terminal
from fansrec.errors import BadInput
from fansrec.files import refuse_existing, write_atomically
from fansrec.printable import printable


def continue_file(continuer: Continuer, source: Path, target: Path, rules: dict[str, Any]) -> None:
    """Every line of `source` gives one line of `target`, in order; the file appears when it is whole."""
    refuse_existing(target, "the continuations")
    if not target.parent.is_dir():
        raise BadInput(f"there is no folder {target.parent}; make it first")
    if not source.is_file():
        raise BadInput(f"there is no file {source}")
    console = Terminal(stderr=True)
    with source.open("rb") as lines, _bar(console) as progress:
        task = progress.add_task(printable(source.name), total=source.stat().st_size, lists=0)
        done = 0

        def write(path: Path) -> None:
            nonlocal done
            with path.open("w", encoding="utf-8", errors=ENCODING_ERRORS) as out:
                for rows in read_batches(lines, source):
                    out.writelines(answer_rows(rows, continuer, rules).lines)
                    done += len(rows)
                    progress.update(task, completed=lines.tell(), lists=done)

        write_atomically(target, write)
    console.say(f"{target}: {done:,} lists")


def _bar(console: Terminal) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[lists]} lists"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,  # else an empty line is printed
    )
