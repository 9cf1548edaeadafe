"""Measure seconds per epoch of training by one process and by Ray workers.

python -m benchmarks.cluster_train CORPUS
"""

import argparse
import csv
import tempfile
import time
from pathlib import Path

import torch

from fansrec.cluster.connection import cluster
from fansrec.cluster.training import train_on_cluster
from fansrec.training.trainer import train

SETTINGS = {"recipe": "paper", "scheduler": "naive", "classifier": "two-stage", "validation_lists": 500}


def seconds_per_epoch(run: Path) -> float:
    """Return the median without the first epoch, in which memory is accessed for the first time."""
    with (run / "metrics.csv").open(newline="") as file:
        seconds = sorted(float(row["seconds"]) for row in list(csv.DictReader(file))[1:])
    return seconds[len(seconds) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, help="a folder made by `fans prepare`")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=256)
    options = parser.parse_args()
    torch.set_num_threads(1)
    settings = SETTINGS | {"epochs": options.epochs, "batch_size": options.batch_size}
    print(f"{'':24}{'s per epoch':>12}{'speed-up':>10}{'efficiency':>12}{'start and end, s':>18}")
    with tempfile.TemporaryDirectory() as place:
        began = time.monotonic()
        train(options.corpus, Path(place) / "alone", "fans", settings, compare=False)
        alone = seconds_per_epoch(Path(place) / "alone")
        print_row("one process", alone, alone, 1, time.monotonic() - began - options.epochs * alone)
        with cluster(cpus=max(options.workers)):
            for workers in options.workers:
                began, out = time.monotonic(), Path(place) / str(workers)
                train_on_cluster(options.corpus, out, "fans", settings, compare=False, workers=workers)
                seconds = seconds_per_epoch(out)
                rest = time.monotonic() - began - options.epochs * seconds
                print_row(f"Ray Train, {workers} workers", alone, seconds, workers, rest)


def print_row(name: str, alone: float, seconds: float, workers: int, rest: float) -> None:
    gain = alone / seconds
    print(f"{name:24}{seconds:12.2f}{gain:10.2f}{gain / workers:12.0%}{rest:18.1f}", flush=True)


if __name__ == "__main__":
    main()
