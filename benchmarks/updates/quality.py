"""Measure how good an updated model is, beside the same model without the update and one that is trained again.

    python -m benchmarks.updates.quality nowplaying --work build/updates/nowplaying \
        --json benchmarks/rows/updates/nowplaying.json

The lists of the set are ordered by time. The newest tenth is for testing only. Three models are trained: on the older
80% of the others (without update), on all others (trained again), and again on all others, but starting with the
weights of the first model (`fans train --start`). `fans update` adds the newest 20% to the first model. All models
continue the same test lists: ten items, items of the input excluded. Items that only the newest 20% contain are new to
the first model; the metrics of lists that contain them, with only these items as targets, are rows of their own.
Models that are there already in --work are not trained again. The rows are written after each model.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.updates.cells import Training, times
from benchmarks.updates.corpora import NamedList, Periods, in_periods, kept_lists
from benchmarks.updates.judging import Judge

from fansrec.artifact import Artifact, read_artifact
from fansrec.evaluation.bootstrap import interval_list
from fansrec.evaluation.metrics import Floats
from fansrec.evaluation.paired import paired_difference
from fansrec.experiments.speed.rows import write_rows
from fansrec.training.reporting import PlainReporter
from fansrec.updating.changes import SetList
from fansrec.updating.update import update

Row = dict[str, Any]
WITHOUT, UPDATED, STARTED, AGAIN = "without update", "updated", "started", "trained again"
OLD = "old"  # the run of the model that is updated
ALL, NEW_ITEMS = "all items", "new items"  # that count in targets


def main() -> None:
    options = parse()
    settings = {"seed": options.seed} | ({"epochs": options.epochs} if options.epochs else {})
    training = Training(options.work, settings, PlainReporter())
    periods = in_periods(kept_lists(options.work / "lists.jsonl", options.source, options.newest))
    if options.corpora:
        make_corpora(training, periods)
        return
    name = options.name or Path(options.source).stem
    label = {"set": name, "newest": options.newest, "epochs": options.epochs, **settings}
    for rows in measured(training, periods):
        write_rows(options.json, [label | row for row in rows])
        print("\n".join(line(row) for row in rows), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.updates.quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", help="name of a public set, or a file that fans prepare reads")
    parser.add_argument("--work", type=Path, required=True, help="folder for corpora and models")
    parser.add_argument("--json", type=Path, required=True, help="file to write the rows to")
    parser.add_argument("--newest", type=int, help="use only that many lists, the newest ones")
    parser.add_argument("--epochs", type=int, help="maximum number of epochs of a training run [the model's own]")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the training runs")
    parser.add_argument("--corpora", action="store_true", help="only write the corpora, for a machine without polars")
    parser.add_argument("--name", help="name of the set in the rows")
    return parser.parse_args()


def make_corpora(training: Training, periods: Periods) -> None:
    known = [*periods.old, *periods.new]
    for name, lists in {OLD: periods.old, **dict.fromkeys((AGAIN, STARTED), known)}.items():
        training.corpus(run_name(name), lists)


def run_name(model: str) -> str:
    return model.replace(" ", "-")


def measured(training: Training, periods: Periods) -> Iterator[list[Row]]:
    """Yield the rows of all models that are there, after each model."""
    judge, known = Judge.of(periods.later), [*periods.old, *periods.new]
    new_items = items_of(periods.new) - items_of(periods.old)
    old = training.model(OLD, periods.old)
    models: dict[str, Artifact] = {WITHOUT: read_artifact(old)}
    seconds: dict[str, Row] = {WITHOUT: times(old)}
    started = time.monotonic()
    models[UPDATED] = updated(models[WITHOUT], periods.new)
    seconds[UPDATED] = {"seconds": time.monotonic() - started}
    answers = {name: judge.answers(model) for name, model in models.items()}
    for name, start in ((AGAIN, None), (STARTED, old)):
        run = training.model(run_name(name), known, start)
        answers[name], seconds[name] = judge.answers(read_artifact(run)), times(run)
        yield [
            {"counted": counted, "lists_before": len(periods.old), "lists_added": len(periods.new), **row}
            for counted, only in ((ALL, None), (NEW_ITEMS, new_items))
            for row in rows_of({name: judge.metrics(own, only) for name, own in answers.items()}, seconds)
        ]


def updated(artifact: Artifact, lists: list[NamedList]) -> Artifact:
    """Return a model in memory after `fans update` with these lists."""
    return update(artifact, [SetList(one.id, tuple(one.items)) for one in lists])[0]


def rows_of(metrics: dict[str, dict[str, Floats]], seconds: dict[str, Row]) -> Iterator[Row]:
    """Yield a row for each model and metric, with its share of that of the model that was trained again."""
    for name, own in metrics.items():
        for metric, values in own.items():
            again = paired_difference(values, metrics[AGAIN][metric])
            yield {
                "model": name,
                "metric": metric,
                "mean": float(np.mean(values)) if len(values) else None,
                "interval": interval_list(values),
                "percent_of_again": percent_of(again.percent),
                "percent_interval": [percent_of(bound) for bound in (again.percent_low, again.percent_high)],
                "lists": len(values),
                **seconds[name],
            }


def percent_of(difference: float) -> float | None:
    """Return 97 for a difference of -3%; None if there is nothing to compare with."""
    return 100 + difference if np.isfinite(difference) else None


def items_of(lists: list[NamedList]) -> set[str]:
    return {id_ for one in lists for id_ in one.items}


def line(row: Row) -> str:
    """Return a row as text."""
    low, high = row["percent_interval"]
    share = "" if row["percent_of_again"] is None else f"{row['percent_of_again']:.1f}% [{low:.1f}, {high:.1f}]"
    return f"{row['counted']:9} {row['model']:14} {row['metric']:9} {row['mean'] or 0:.4f} {share}"


if __name__ == "__main__":
    main()
