"""`fans continue --input`: many lists in this process or on a Ray cluster, with a progress bar."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rich.progress import MofNCompleteColumn, TextColumn, TimeRemainingColumn

from fansrec.api.continuer import Continuer
from fansrec.api.many_lists import ENCODING_ERRORS, print_answers, write_answers
from fansrec.cli.list_files import CountedLines, read_lists
from fansrec.cli.progress_bars import progress_bar
from fansrec.cli.terminal import Terminal
from fansrec.data.decompression import decompressed
from fansrec.errors import BadInput, BadSetting
from fansrec.files import refuse_existing, write_atomically
from fansrec.printable import printable

if TYPE_CHECKING:
    from fansrec.cluster.batch import Batch

LISTS = TextColumn("{task.fields[lists]} lists")
COMPRESSED = (".gz", ".zip")
STANDARD = "-"  # the name of standard input and standard output


def check_files(source: str | None, target: str | None, engine: str, force: bool) -> None:
    """Refuse `--input` and `--output` that do not fit together or cannot be used, before the model is read."""
    if (source is None) != (target is None):
        given, missing = ("--input", "--output FILE") if target is None else ("--output", "--input FILE")
        raise BadSetting(f"{given} needs {missing}, which is missing; - is standard input or output")
    if engine == "ray":
        if force:
            raise BadSetting("--force has no effect with --engine ray, which resumes the folder of --output; remove it")
        return
    if source is None or target is None:
        return
    for flag, path in (("--input", source), ("--output", target)):
        if "://" in path:
            raise BadSetting(f"{flag} {path} is a URL, which needs --engine ray; add it, or give a local file")
    if source != STANDARD and not Path(source).is_file():
        what = "is a folder" if Path(source).is_dir() else "does not exist"
        raise BadInput(f"--input {source} {what}; give a file of lists, or - for standard input")
    if target != STANDARD:
        if source != STANDARD and Path(target).exists() and Path(target).samefile(source):
            raise BadSetting(
                f"--input and --output are the same file, {source}; give another path for the continuations"
            )
        refuse_existing(Path(target), "the continuations", force)
        if not Path(target).parent.is_dir():
            raise BadInput(f"there is no folder {Path(target).parent}; create it first")


def continue_file(continuer: Continuer, source: str, target: str, rules: dict[str, Any]) -> None:
    """Write one line for every list of `source`, in order; a file appears when it is complete."""
    console = Terminal(stderr=True)
    with _opened(source) as (file, total), progress_bar(console, LISTS, TimeRemainingColumn()) as progress:
        name = "standard input" if source == STANDARD else source
        task = progress.add_task(printable(Path(name).name), total=total, lists=0)
        lines = CountedLines(file)

        def report(lists: int) -> None:
            progress.update(task, completed=lines.tell(), lists=f"{lists:,}")

        batches = read_lists(lines, name, console.say)
        counts = _write(target, lambda write, to: write(to, batches, continuer, rules, report))
    if target != STANDARD:
        console.say(f"{target}: {counts['lists']:,} lists")


def _write(target: str, write: Callable[[Callable[..., dict[str, int]], Any], dict[str, int]]) -> dict[str, int]:
    if target == STANDARD:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", errors=ENCODING_ERRORS)
        return write(print_answers, sys.stdout)
    return write_atomically(Path(target), lambda path: write(write_answers, path))


@contextmanager
def _opened(source: str) -> Iterator[tuple[IO[bytes], int | None]]:
    """Yield a file, decompressed if its name ends in .gz or .zip, and its size; None for standard input."""
    if source == STANDARD:
        yield sys.stdin.buffer, None
        return
    if Path(source).suffix.lower() in COMPRESSED:
        with decompressed(Path(source)) as plain, plain.path.open("rb") as file:
            yield file, plain.path.stat().st_size
        return
    with Path(source).open("rb") as file:
        yield file, Path(source).stat().st_size


def continue_on_cluster(batch: "Batch", source: str, target: str, address: str | None, workers: int | None) -> None:
    """Write the continuations of all lists of `source` to the folder `target` of the batch."""
    from fansrec.cluster.batch import continue_batch
    from fansrec.cluster.connection import cluster

    console = Terminal(stderr=True)
    columns = (MofNCompleteColumn(), LISTS, TimeRemainingColumn())
    with cluster(address, workers), progress_bar(console, *columns) as progress:
        task = progress.add_task("pieces", total=None, lists=0)

        def update(done: int, pieces: int, lists: int) -> None:
            progress.update(task, completed=done, total=pieces, lists=f"{lists:,}")

        summary = continue_batch(batch, source, workers, update)
    console.say(f"{target}: {summary['lists']:,} lists")
