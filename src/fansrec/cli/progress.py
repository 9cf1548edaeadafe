"""Training on the terminal: one bar, with the loss, the category accuracy and the last validation figures."""

from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fansrec.cli.terminal import Terminal


class BarReporter:
    """A bar over all batches that training may take; it usually ends before, when nothing gets better."""

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
        self.validated = ""

    def __enter__(self) -> "BarReporter":
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
            self.task, completed=epoch * self.batches + batch, epoch=str(epoch), figures=figures + self.validated
        )

    def epoch(self, row: dict[str, Any]) -> None:
        self.validated = f"  valid HR@5 {row['valid HR@5']:.4f} NDCG@5 {row['valid NDCG@5']:.4f}"
        masked = "" if row["masked_share"] is None else f"{row['masked_share']:>4.0%} masked  "
        self.console.print(
            f"epoch {row['epoch']:>3}  {masked}loss {row['loss']:.4f}{self.validated}  {row['seconds']:.1f} s"
        )

    def message(self, text: str) -> None:
        self.console.say(text)
