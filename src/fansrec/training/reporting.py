"""Reports of a training run; the command line has a reporter with a progress bar."""

from typing import Any

from fansrec.printable import printable


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
        print("  ".join(f"{name} {_format(value)}" for name, value in row.items()), flush=True)

    def message(self, text: str) -> None:
        print(printable(text), flush=True)


def _format(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
