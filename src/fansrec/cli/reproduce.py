"""`fans reproduce`: the paper's tables and figures again, on the sets at hand."""

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from fansrec.cli.devices import usable_device
from fansrec.cli.terminal import Terminal, echo
from fansrec.errors import Unfinished
from fansrec.printable import printable_lines

if TYPE_CHECKING:
    from fansrec.experiments.pool import Outcome

WHAT = "table1, table2, table3, table4, fig-category, fig-recall, fig-time, industry, or all"


def reproduce(
    what: Annotated[list[str], typer.Argument(metavar="WHAT", help=WHAT)],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Keep corpora, figures and the report there", show_default="reproduction, or reproduction-quick"
        ),
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(help="Only these, with commas", show_default="all that are at hand")
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="With commas", show_default="0,1,2")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Trainings at once, a thread each", show_default="the number of cores")
    ] = None,
    device: Annotated[
        Literal["cpu", "cuda"] | None,
        typer.Option(help="Where models run", show_default="a GPU if there is one, else cpu"),
    ] = None,
    only_report: Annotated[
        bool, typer.Option("--only-report", help="Prepare the corpora, train and time nothing, report what is finished")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A smoke test in about a minute; its figures mean nothing")
    ] = False,
) -> None:
    """Redo the paper's tables and figures: train every system, measure it, and set ours beside the published numbers.

    Finished cells are kept in OUT, so an interrupted run goes on where it stopped; the report is OUT/report.md and
    OUT/report.html. Datasets whose files are missing are skipped by name: `fans data list` says how to get them.

    All of it takes days on a few cores and hours on a GPU. For a bare GPU machine, first run this with --only-report:
    it prepares the corpora and trains nothing. Copy OUT/corpora/ there, run `python -m fansrec.experiments paper`, copy
    its cells/ and timings/ back into OUT and run this again for the report. Copy runs/ back as well if timings made
    here should use trained weights: without them, weights are random, and the report says so.

    Example: `fans reproduce table2 --datasets aotm --seeds 0`
    """
    from fansrec.experiments.paper.catalogue import choose
    from fansrec.experiments.paper.reproduce import reproduce as redo
    from fansrec.experiments.pool import hide_gpu

    hide_gpu(device)
    choice = choose(what, _names(datasets), _numbers(seeds), quick)
    place = out or Path("reproduction-quick" if quick else "reproduction")
    with Bar(Terminal(stderr=True)) as bar:
        done = redo(choice, place, bar, workers, usable_device(device), only_report)
    echo(f"written: {done.report}", f"written: {done.page}")
    if done.undone:
        raise Unfinished(f"{done.undone} cells are not finished; mend what was told and run the same command again")


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _numbers(text: str | None) -> list[int] | None:
    from fansrec.errors import BadSetting

    try:
        return None if text is None else [int(number) for number in text.split(",")]
    except ValueError:
        raise BadSetting(f"--seeds {text} is no list of numbers such as 0,1,2") from None


class Bar:
    """Cells done on a terminal; a line a cell in a log."""

    def __init__(self, console: Terminal) -> None:
        self.console = console
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self.progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self.task = self.progress.add_task("", total=None, visible=False)

    def __enter__(self) -> "Bar":
        self.progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.progress.stop()

    def say(self, text: str) -> None:
        self.console.say(text)

    def begin(self, what: str, jobs: int) -> None:
        self.progress.reset(self.task, total=jobs, description=what, visible=True)

    def ended(self, outcome: "Outcome") -> None:
        from fansrec.experiments.progress import told_of

        self.progress.advance(self.task)
        self.console.print(printable_lines(told_of(outcome)), soft_wrap=True)
