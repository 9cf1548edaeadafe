"""How training scales: `python -m benchmarks.cluster_train CORPUS`: seconds an epoch by one process and by workers."""

import argparse
import csv
import tempfile
import time
from pathlib import Path

import torch

from fansrec.cluster.connection import cluster
from fansrec.cluster.training import train_on_cluster
from fansrec.training.run import train

SETTINGS = {"recipe": "paper", "scheduler": "naive", "classifier": "two-stage", "validation_lists": 500}


def seconds_an_epoch(run: Path) -> float:
    """The median; the first epoch, in which memory is first touched, does not count."""
    with (run / "metrics.csv").open(newline="") as file:
        seconds = sorted(float(row["seconds"]) for row in list(csv.DictReader(file))[1:])
    return seconds[len(seconds) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, help="a folder made by `fans prepare`")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=256)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    settings = SETTINGS | {"epochs": asked.epochs, "batch_size": asked.batch_size}
    print(f"{'':24}{'s an epoch':>12}{'speed-up':>10}{'efficiency':>12}{'start and end, s':>18}")
    with tempfile.TemporaryDirectory() as place:
        began = time.monotonic()
        train(asked.corpus, Path(place) / "alone", "fans", settings, compare=False)
        alone = seconds_an_epoch(Path(place) / "alone")
        told("one process", alone, alone, 1, time.monotonic() - began - asked.epochs * alone)
        with cluster(cpus=max(asked.workers)):
            for workers in asked.workers:
                began, out = time.monotonic(), Path(place) / str(workers)
                train_on_cluster(asked.corpus, out, "fans", settings, compare=False, workers=workers)
                seconds = seconds_an_epoch(out)
                rest = time.monotonic() - began - asked.epochs * seconds
                told(f"Ray Train, {workers} workers", alone, seconds, workers, rest)


def told(name: str, alone: float, seconds: float, workers: int, rest: float) -> None:
    gain = alone / seconds
    print(f"{name:24}{seconds:12.2f}{gain:10.2f}{gain / workers:12.0%}{rest:18.1f}", flush=True)


if __name__ == "__main__":
    main()
