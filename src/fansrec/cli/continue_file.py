"""`fans continue --input FILE`: a file of lists in, a file of continuations out."""

from pathlib import Path
from typing import Any

from rich.progress import TextColumn, TimeRemainingColumn

from fansrec.api.continuer import Continuer
from fansrec.api.many_lists import ENCODING_ERRORS, answer_rows, read_batches
from fansrec.cli.progress_bars import progress_bar
from fansrec.cli.terminal import Terminal
from fansrec.errors import BadInput
from fansrec.files import refuse_existing, write_atomically
from fansrec.printable import printable


def continue_file(continuer: Continuer, source: Path, target: Path, rules: dict[str, Any]) -> None:
    """Write one line to `target` for every line of `source`, in order; the file appears when it is complete."""
    refuse_existing(target, "the continuations")
    if not target.parent.is_dir():
        raise BadInput(f"there is no folder {target.parent}; create it first")
    if not source.is_file():
        raise BadInput(f"there is no file {source}; check --input")
    console = Terminal(stderr=True)
    columns = (TextColumn("{task.fields[lists]} lists"), TimeRemainingColumn())
    with source.open("rb") as lines, progress_bar(console, *columns) as progress:
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
