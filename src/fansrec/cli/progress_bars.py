"""Progress bars: of a training run, and of the jobs of an experiment."""

from typing import TYPE_CHECKING, Any, Self

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
from fansrec.training.reporting import EpochLines, Reporter, format_validation

if TYPE_CHECKING:
    from fansrec.experiments.pool import Outcome


def progress_bar(console: Terminal, *columns: ProgressColumn) -> Progress:
    """Return a bar with a description and these columns; it is shown on a terminal only, and removed at the end."""
    description = TextColumn("{task.description}", markup=False)
    hidden = not console.is_terminal  # without it, a log would get an empty line
    return Progress(description, BarColumn(24), *columns, console=console, transient=True, disable=hidden)


class Bar:
    """A bar that appears when its work begins, and the lines printed above it."""

    def __init__(self, console: Terminal, *columns: ProgressColumn) -> None:
        self.console = console
        self.progress = progress_bar(console, *columns)
        self.task = self.progress.add_task("", total=None, visible=False, figures="")

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def say(self, text: str) -> None:
        self.console.say(text)


class TrainingBar(Bar, Reporter):
    """A bar over the maximum number of batches, with the loss, the category accuracy and the last validation metrics.

    Training usually ends earlier, when the validation metrics stop improving.
    """

    def __init__(self, console: Terminal) -> None:
        figures, at_most = TextColumn("{task.fields[figures]}"), TextColumn("at most")
        super().__init__(console, MofNCompleteColumn(), figures, at_most, TimeRemainingColumn())
        self.batches, self.validation, self.lines = 0, "", EpochLines()

    def start(self, epochs: int, batches: int) -> None:
        self.batches, self.validation = batches, ""
        self.lines.start(epochs)
        self.progress.reset(self.task, total=epochs * batches, description="epoch 1", visible=True, figures="")

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        figures = f"loss {loss:.3f}" + ("" if category_accuracy is None else f"  category {category_accuracy:.1%}")
        done, title = (epoch - 1) * self.batches + batch, f"epoch {epoch}"
        self.progress.update(self.task, completed=done, description=title, figures=figures + self.validation)

    def epoch(self, row: dict[str, Any]) -> None:
        self.validation = f"  {format_validation(row)}"
        self.say(self.lines.line(row))

    message = Bar.say


class StageBar(Bar):
    """A bar over a stage of the work; it pulses until the stage says how much there is to do."""

    def __init__(self, console: Terminal, title: str) -> None:
        super().__init__(console, TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
        self.stage(title)

    def stage(self, title: str) -> None:
        """Begin a stage, if it is not the current one."""
        if self.progress.tasks[0].description != title:
            self.progress.remove_task(self.task)
            self.task = self.progress.add_task(title, total=None)

    def advance(self, done: int, total: int) -> None:
        self.progress.update(self.task, completed=done, total=total)


class JobBar(Bar):
    """A bar over the jobs of an experiment, and one line per finished job."""

    def __init__(self, console: Terminal) -> None:
        super().__init__(console, MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())

    def begin(self, title: str, jobs: int) -> None:
        self.progress.reset(self.task, total=jobs, description=title, visible=True)

    def ended(self, outcome: "Outcome") -> None:
        self.progress.advance(self.task)
        self.console.print(printable_lines(str(outcome)), soft_wrap=True)
