"""Measure seconds per epoch of training by one process and by Ray workers, of one thread each.

    python -m benchmarks.cluster_train CORPUS --batch-size 1024 --turns 2

Beside the seconds on the clock are those of the processor of the busiest worker, validation included: on a machine with
other work these say what idle processors could do. The fastest epoch of all turns counts.
"""

import argparse
import csv
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from benchmarks.processor_time import worker_seconds

from fansrec.cluster.connection import cluster
from fansrec.cluster.training import train_on_cluster
from fansrec.training.reporting import Reporter
from fansrec.training.trainer import train

SETTINGS = {"recipe": "paper", "scheduler": "naive", "classifier": "two-stage", "validation_lists": 500}


class Processors(Reporter):
    """Notes the processor time of every process at the end of each epoch."""

    def __init__(self) -> None:
        self.marks: list[dict[int, float]] = []

    def epoch(self, row: dict[str, Any]) -> None:
        self.marks.append(worker_seconds() or {0: time.process_time()})

    def least(self) -> float:
        """Return the seconds per epoch of the busiest process, in the epoch in which they were least."""
        epochs = zip(self.marks[:-1], self.marks[1:], strict=True)
        return min(max(spent - before.get(one, 0.0) for one, spent in after.items()) for before, after in epochs)


def seconds_per_epoch(run: Path) -> float:
    """Return the least seconds without the first epoch, in which memory is accessed for the first time."""
    with (run / "metrics.csv").open(newline="") as file:
        return min(float(row["seconds"]) for row in list(csv.DictReader(file))[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="a folder made by `fans prepare`")
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2], help="0: one process without Ray")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--turns", type=int, default=1)
    options = parser.parse_args()
    os.environ.setdefault("RAY_worker_niceness", "0")  # the priority of the process that trains alone
    torch.set_num_threads(1)
    settings = SETTINGS | {"epochs": options.epochs, "batch_size": options.batch_size}
    found: dict[int, list[tuple[float, float]]] = {workers: [] for workers in options.workers}
    with tempfile.TemporaryDirectory() as place:
        for turn in range(options.turns):
            for workers, times in found.items():
                times.append(measured(options.corpus, Path(place) / f"{turn}-{workers}", settings, workers))
                print(
                    f"turn {turn + 1}, {name(workers)}: {times[-1][0]:.2f} s, processor {times[-1][1]:.2f} s",
                    flush=True,
                )
    print(f"{'least of all turns':24}{'s per epoch':>12}{'speed-up':>10}{'processor, s':>14}{'speed-up':>10}")
    least = {workers: [min(column) for column in zip(*times, strict=True)] for workers, times in found.items()}
    base = least[min(least)]
    for workers, (clock, processor) in least.items():
        gains = base[0] / clock, base[1] / processor
        print(f"{name(workers):24}{clock:12.2f}{gains[0]:10.2f}{processor:14.2f}{gains[1]:10.2f}")


def name(workers: int) -> str:
    return f"Ray Train, {workers} worker{'s' * (workers > 1)}" if workers else "one process"


def measured(corpus: Path, out: Path, settings: dict[str, Any], workers: int) -> tuple[float, float]:
    """Return the seconds per epoch on the clock and of the busiest processor; without `workers` in this process."""
    processors = Processors()
    if workers:
        with cluster(cpus=workers):
            train_on_cluster(corpus, out, "fans", settings, processors, compare=False, workers=workers)
    else:
        train(corpus, out, "fans", settings, processors, compare=False)
    return seconds_per_epoch(out), processors.least()


if __name__ == "__main__":
    main()
