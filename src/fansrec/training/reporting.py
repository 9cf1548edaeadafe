"""Reports of a training run: progress, callbacks and metrics.csv."""

import csv
import io
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from fansrec.files import write_text
from fansrec.printable import is_interactive, printable

METRICS = "metrics.csv"
CLEAR_LINE = "\r\x1b[K"


class Reporter:
    """A reporter that ignores everything: for tests, and for all but one of several processes."""

    def start(self, epochs: int, batches: int) -> None:
        """Report the start of training: at most `epochs` epochs of `batches` batches."""

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        """Report a finished batch; epochs and batches count from 1, the figures are means over the epoch so far."""

    def epoch(self, row: dict[str, Any]) -> None:
        """Report a finished and validated epoch; `row` is its line in metrics.csv."""

    def message(self, text: str) -> None:
        """Report a line of text."""


NULL_REPORTER = Reporter()


@dataclass(frozen=True)
class Epoch:
    """A finished epoch, as callbacks of `train` get it.

    Attributes:
        number: Number of the epoch, from 1.
        epochs: Maximum number of epochs; training ends earlier if the validation figures stop improving.
        loss: Mean loss over the epoch.
        validation: Figures on the validation lists, for example NDCG@5.
        seconds: Duration of the epoch.
    """

    number: int
    epochs: int
    loss: float
    validation: dict[str, float]
    seconds: float


Callback = Callable[[Epoch], object]  # what it returns is not used; an exception ends the training


class Callbacks(Reporter):
    """Passes everything on to a reporter, and every epoch to callbacks."""

    def __init__(self, reporter: Reporter, callbacks: Sequence[Callback]) -> None:
        self._callbacks, self._epochs = callbacks, 0
        self.batch, self.message = reporter.batch, reporter.message  # type: ignore[method-assign]
        self._reporter = reporter

    def start(self, epochs: int, batches: int) -> None:
        self._epochs = epochs
        self._reporter.start(epochs, batches)

    def epoch(self, row: dict[str, Any]) -> None:
        self._reporter.epoch(row)
        validation = {name.removeprefix("valid "): value for name, value in row.items() if name.startswith("valid ")}
        for callback in self._callbacks:
            callback(Epoch(row["epoch"], self._epochs, row["loss"], validation, row["seconds"]))


def with_callbacks(reporter: Reporter, callbacks: Sequence[Callback]) -> Reporter:
    """Return a reporter that also calls the callbacks, if there are any."""
    return Callbacks(reporter, callbacks) if callbacks else reporter


class EpochLines:
    """The text of every epoch of a training run, with the limit of epochs and an estimate of the time left."""

    def __init__(self) -> None:
        self.epochs = 0
        self._seconds: list[float] = []

    def start(self, epochs: int) -> None:
        self.epochs, self._seconds = epochs, []

    def line(self, row: Mapping[str, Any]) -> str:
        """Return the text of an epoch; `row` is its line in metrics.csv."""
        self._seconds.append(row["seconds"])
        left = sum(self._seconds) / len(self._seconds) * (self.epochs - row["epoch"])
        masked = "" if row["masked_share"] is None else f"{row['masked_share']:>4.0%} masked  "
        number = f"epoch {row['epoch']:>{len(str(self.epochs))}} of at most {self.epochs}"
        remaining = f", at most {format_duration(left)} left" if row["epoch"] < self.epochs else ""
        figures = f"{masked}loss {row['loss']:.4f}  {format_validation(row)}"
        return f"{number}  {figures}  {row['seconds']:.1f} s{remaining}"


def format_validation(row: Mapping[str, Any]) -> str:
    """Return the validation figures of an epoch as text."""
    return f"valid HR@5 {row['valid HR@5']:.4f} NDCG@5 {row['valid NDCG@5']:.4f}"


def format_duration(seconds: float) -> str:
    """Return a duration as text: 40 s, 3 min 20 s, 2 h 5 min."""
    minutes, rest = divmod(max(1, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class PlainReporter(Reporter):
    """A reporter that prints one line per epoch, for logs and for machines without a terminal library."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._file, self._lines = file, EpochLines()

    def start(self, epochs: int, batches: int) -> None:
        self._lines.start(epochs)
        self.message(f"training: at most {epochs} epochs of {batches} batches")

    def epoch(self, row: dict[str, Any]) -> None:
        self.message(self._lines.line(row))

    def message(self, text: str) -> None:
        print(printable(text), file=self._file or sys.stdout, flush=True)


class LiveReporter(PlainReporter):
    """As `PlainReporter`, with a last line that is rewritten while an epoch is trained: for terminals and notebooks."""

    def __init__(self, file: TextIO | None = None) -> None:
        super().__init__(file)
        self._batches, self._last = 0, -1

    def start(self, epochs: int, batches: int) -> None:
        self._batches = batches
        super().start(epochs, batches)

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        percent = 100 * batch // max(1, self._batches)
        if percent != self._last:
            self._last = percent
            self._write(f"epoch {epoch} of at most {self._lines.epochs}  {percent:>3}%  loss {loss:.4f}")

    def message(self, text: str) -> None:
        self._write("")
        super().message(text)

    def _write(self, text: str) -> None:
        print(CLEAR_LINE + printable(text), end="", file=self._file or sys.stdout, flush=True)


def default_reporter() -> Reporter:
    """Return a reporter that shows the progress in a terminal and in a notebook, and is silent elsewhere."""
    return LiveReporter() if is_interactive() else NULL_REPORTER


def format_values(values: Mapping[str, Any]) -> str:
    """Return names and values as text: alpha 0.2, similarity cosine."""
    return ", ".join(f"{name} {value if isinstance(value, str) else f'{value:g}'}" for name, value in values.items())


def write_metrics(folder: Path, history: list[dict[str, Any]]) -> None:
    """Write the figures of every epoch, or of every candidate of a search, to metrics.csv."""
    if not history:
        return
    text = io.StringIO()
    columns = dict.fromkeys(name for row in history for name in row)  # rows of different searches have different ones
    writer = csv.DictWriter(text, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(history)
    write_text(folder / METRICS, text.getvalue())
