"""Reports of a training run: lines of text, metrics.csv and TensorBoard events."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fansrec.files import write_text
from fansrec.printable import printable

METRICS = "metrics.csv"
TENSORBOARD = "tensorboard"


class Reporter:
    """A reporter that ignores everything: for tests, and for all but one of several processes."""

    def start(self, epochs: int, batches: int) -> None:
        """Report the start of training: at most `epochs` epochs of `batches` batches."""

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        """Report a finished batch; the figures are means over the epoch so far."""

    def epoch(self, row: dict[str, Any]) -> None:
        """Report a finished and validated epoch; `row` is its line in metrics.csv."""

    def message(self, text: str) -> None:
        """Report a line of text."""


NULL_REPORTER = Reporter()


class PlainReporter(Reporter):
    """A reporter that prints one line per epoch, for logs and for machines without a terminal library."""

    def start(self, epochs: int, batches: int) -> None:
        print(f"training: at most {epochs} epochs of {batches} batches", flush=True)

    def epoch(self, row: dict[str, Any]) -> None:
        figures = {name: f"{value:.4f}" if isinstance(value, float) else value for name, value in row.items()}
        print("  ".join(f"{name} {value}" for name, value in figures.items()), flush=True)

    def message(self, text: str) -> None:
        print(printable(text), flush=True)


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


class Events:
    """A writer of TensorBoard events, if TensorBoard is installed; metrics.csv has the same figures."""

    def __init__(self, folder: Path) -> None:
        self._writer: Any = None
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            return
        self._folder = folder / TENSORBOARD
        self._writer = SummaryWriter(str(self._folder))

    def write(self, row: dict[str, Any]) -> None:
        if self._writer is None:
            return
        for name, value in row.items():
            if name != "epoch" and isinstance(value, int | float):
                self._writer.add_scalar(name, value, row["epoch"])

    def close(self) -> None:
        """Close the files and rename them: TensorBoard puts the name of the machine into them."""
        if self._writer is None:
            return
        self._writer.close()
        for number, path in enumerate(sorted(self._folder.glob("*tfevents*"))):
            path.rename(self._folder / f"events.out.tfevents.{number}")
