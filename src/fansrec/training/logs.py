"""The figures of every epoch on disk: metrics.csv and TensorBoard events."""

import csv
import io
from pathlib import Path
from typing import Any

from fansrec.files import write_text

METRICS = "metrics.csv"
TENSORBOARD = "tensorboard"


def write_metrics(folder: Path, history: list[dict[str, Any]]) -> None:
    if not history:
        return
    text = io.StringIO()
    writer = csv.DictWriter(text, list(history[0]), lineterminator="\n")
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
