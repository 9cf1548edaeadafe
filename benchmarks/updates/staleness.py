"""Measure how much network and linear part should weigh in an updated model, on lists older than the test lists.

    python -m benchmarks.updates.staleness nowplaying --work build/updates/nowplaying-older \
        --json benchmarks/rows/updates/staleness-nowplaying.json

The newest tenth of the lists, which `benchmarks.updates.quality` tests with, is left out. The others are divided as
there: a model is trained on the older ones, updated with the newest fifth of them, and continues the lists after that.
Network and linear part weigh the share of the lists that they were trained with, to each of several powers.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.updates.cells import Training
from benchmarks.updates.corpora import Periods, in_periods, kept_lists
from benchmarks.updates.judging import Judge
from benchmarks.updates.quality import OLD, items_of, updated

from fansrec.artifact import read_artifact
from fansrec.evaluation.bootstrap import interval_list
from fansrec.evaluation.paired import paired_difference
from fansrec.experiments.speed.rows import write_rows
from fansrec.training.reporting import PlainReporter
from fansrec.updating import arrays

POWERS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0)
Row = dict[str, Any]


def main() -> None:
    options = parse()
    periods = in_periods(kept_lists(options.work / "lists.jsonl", options.source, options.newest))
    older = in_periods([*periods.old, *periods.new])
    settings = {"seed": 0} | ({"epochs": options.epochs} if options.epochs else {})
    rows = list(measured(Training(options.work, settings, PlainReporter()), older))
    write_rows(options.json, [{"set": options.source, "newest": options.newest, **settings, **row} for row in rows])
    for row in rows:
        low, high = row["gain_interval"]
        gain = f"{row['gain']:+.1f}% [{low:+.1f}, {high:+.1f}]"
        print(f"{row['counted']}  power {row['power']:g}  {row['metric']:7} {row['mean']:.4f}  {gain}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.updates.staleness",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", help="name of a public set, or a file that fans prepare reads")
    parser.add_argument("--work", type=Path, required=True, help="folder for the corpus and the model")
    parser.add_argument("--json", type=Path, required=True, help="file to write the rows to")
    parser.add_argument("--newest", type=int, help="use only that many lists, the newest ones")
    parser.add_argument("--epochs", type=int, help="maximum number of epochs of the training run [the model's own]")
    return parser.parse_args()


def measured(training: Training, periods: Periods) -> Iterator[Row]:
    """Yield the metrics of the updated model for each power, with the gain over weights that stay."""
    judge, new_items = Judge.of(periods.later), items_of(periods.new) - items_of(periods.old)
    trained = read_artifact(training.model(OLD, periods.old))
    answers = {}
    for power in POWERS:
        with patch.object(arrays, "STALENESS", power), patch.object(arrays, "LEAST_WEIGHT", 0.0):
            answers[power] = judge.answers(updated(trained, periods.new))
    for counted, only in (("all items", None), ("new items", new_items)):
        metrics = {power: judge.metrics(found, only) for power, found in answers.items()}
        for power, own in metrics.items():
            for metric in ("NDCG@5", "NDCG@10"):
                gain = paired_difference(own[metric], metrics[0.0][metric])
                yield {
                    "counted": counted,
                    "power": power,
                    "metric": metric,
                    "mean": float(np.mean(own[metric])),
                    "interval": interval_list(own[metric]),
                    "gain": gain.percent,
                    "gain_interval": [gain.percent_low, gain.percent_high],
                    "lists": len(own[metric]),
                }


if __name__ == "__main__":
    main()
