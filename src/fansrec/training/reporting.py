"""How training tells what it does: a few calls that the command line turns into a progress bar."""

from typing import Any, Protocol

from fansrec.printable import printable


class Reporter(Protocol):
    def start(self, epochs: int, batches: int) -> None:
        """Training begins: at most so many epochs of so many batches."""

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        """A batch is done; the figures are means over the epoch so far."""

    def epoch(self, row: dict[str, Any]) -> None:
        """An epoch is done and validated; `row` is its line in metrics.csv."""

    def say(self, text: str) -> None:
        """Something worth a line of its own."""


class PlainReporter:
    """A line an epoch, for logs and for machines without a terminal library."""

    def start(self, epochs: int, batches: int) -> None:
        print(f"training: at most {epochs} epochs of {batches} batches", flush=True)

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        pass

    def epoch(self, row: dict[str, Any]) -> None:
        print("  ".join(f"{name} {_short(value)}" for name, value in row.items()), flush=True)

    def say(self, text: str) -> None:
        print(printable(text), flush=True)


class Silence:
    """Says nothing: for tests, and for all but one of several processes."""

    def start(self, epochs: int, batches: int) -> None: ...

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None: ...

    def epoch(self, row: dict[str, Any]) -> None: ...

    def say(self, text: str) -> None: ...


def _short(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
