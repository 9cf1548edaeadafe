"""Progress bars: of a training run, and of the jobs of an experiment."""

from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from fansrec.cli.terminal import Terminal
from fansrec.printable import printable_lines
from fansrec.training.reporting import Reporter

if TYPE_CHECKING:
    from fansrec.experiments.pool import Outcome


def progress_bar(console: Terminal, *columns: ProgressColumn) -> Progress:
    """Return a bar with a description and these columns; it is shown on a terminal only, and removed at the end."""
    description = TextColumn("{task.description}", markup=False)
    hidden = not console.is_terminal  # without it, a log would get an empty line
    return Progress(description, BarColumn(), *columns, console=console, transient=True, disable=hidden)


class TrainingBar(Reporter):
    """A bar over the maximum number of batches, with the loss, the category accuracy and the last validation metrics.

    Training usually ends earlier, when the validation metrics stop improving.
    """

    def __init__(self, console: Terminal) -> None:
        self.console = console
        self.progress = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TextColumn("at most"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self.task = self.progress.add_task("", epoch="0", figures="", start=False)
        self.batches = 0
        self.validation = ""

    def __enter__(self) -> "TrainingBar":
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self.progress.stop()

    def start(self, epochs: int, batches: int) -> None:
        self.batches = batches
        if self.console.is_terminal:
            self.progress.start()
        self.progress.reset(self.task, total=epochs * batches, epoch="0", figures="")

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        figures = f"loss {loss:.3f}" + ("" if category_accuracy is None else f"  category {category_accuracy:.1%}")
        self.progress.update(
            self.task, completed=epoch * self.batches + batch, epoch=str(epoch), figures=figures + self.validation
        )

    def epoch(self, row: dict[str, Any]) -> None:
        self.validation = f"  valid HR@5 {row['valid HR@5']:.4f} NDCG@5 {row['valid NDCG@5']:.4f}"
        masked = "" if row["masked_share"] is None else f"{row['masked_share']:>4.0%} masked  "
        self.console.print(
            f"epoch {row['epoch']:>3}  {masked}loss {row['loss']:.4f}{self.validation}  {row['seconds']:.1f} s"
        )

    def message(self, text: str) -> None:
        self.console.say(text)


class JobBar:
    """A bar over the jobs of an experiment, and one line per finished job."""

    def __init__(self, console: Terminal) -> None:
        self.console = console
        self.progress = progress_bar(console, MofNCompleteColumn(), TimeElapsedColumn())
        self.task = self.progress.add_task("", total=None, visible=False)

    def __enter__(self) -> "JobBar":
        self.progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.progress.stop()

    def say(self, text: str) -> None:
        self.console.say(text)

    def begin(self, title: str, jobs: int) -> None:
        self.progress.reset(self.task, total=jobs, description=title, visible=True)

    def ended(self, outcome: "Outcome") -> None:
        self.progress.advance(self.task)
        self.console.print(printable_lines(str(outcome)), soft_wrap=True)
