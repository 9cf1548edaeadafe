"""How latency grows with the number of items M, of categories N, of generated items k, and of lists per call."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from fansrec.experiments.speed import throughput
from fansrec.experiments.speed.arms import Systems
from fansrec.experiments.speed.engines import Say
from fansrec.experiments.speed.measuring import Arm, Progress, in_calls, measure
from fansrec.experiments.speed.options import SweepOptions, ThroughputOptions
from fansrec.experiments.speed.rows import Row, rows_of, without_calls
from fansrec.experiments.speed.workloads import Question, mixed, questions_of

ARMS = ThroughputOptions.arms
INPUT_LENGTH = 47  # while k varies: half of Spotify's mean list length


def sweep(
    options: SweepOptions, say: Say = lambda line: None, progress: Progress = lambda done, total: None
) -> list[Row]:
    """Return rows with `varies`: items, categories, k or batch. The systems of a panel take turns on the same lists."""
    say_once = cache(say)
    rows = []
    panels = (by_items, by_categories, by_k, by_batch)
    for number, panel in enumerate(panels):
        progress(number, len(panels))
        name = panel.__name__.removeprefix("by_")
        say(f"varying {name} …")
        rows += [{"varies": name, "workload": options.workload} | row for row in panel(options, say_once)]
    return rows


def by_items(options: SweepOptions, say: Say) -> list[Row]:
    """Vary M with N near its square root; the lists contain only items of the smallest M."""
    arms = [
        replace(arm, items=items)
        for items in options.items
        for arm in _systems(options, say, items).one_pass(ARMS, max(2, round(items**0.5)))
    ]
    questions = mixed(questions_of(options.workload, min(options.items), options.lists, options.seed))
    return _measure(options, arms, questions)


def by_categories(options: SweepOptions, say: Say) -> list[Row]:
    systems = _systems(options, say, options.size)
    arms = [arm for count in options.categories for arm in systems.one_pass(ARMS, count)]
    return _measure(options, arms, mixed(questions_of(options.workload, options.size, options.lists, options.seed)))


def by_k(options: SweepOptions, say: Say) -> list[Row]:
    """Vary k, also for BERT4Rec, which needs a pass for each of the k items."""
    systems = _systems(options, say, options.size)
    slow = [arm for arm in systems.autoregressive(("autoregressive",)) if arm.model == "bert4rec"]
    arms = slow + systems.one_pass(ARMS, options.of_size)
    inputs = np.random.default_rng(options.seed).integers(options.size, size=(options.lists, INPUT_LENGTH))
    points = len(options.ks)
    return [
        row for k in options.ks for row in _measure(options, arms, [Question(given, k) for given in inputs], points)
    ]


def by_batch(options: SweepOptions, say: Say) -> list[Row]:
    arms = _systems(options, say, options.size).one_pass(ARMS, options.of_size)
    lists = max(2 * max(options.batches), options.lists)
    questions = questions_of(options.workload, options.size, lists, options.seed)
    return throughput.by_batch(arms, questions, options.size, replace(options, seconds=options.seconds / 4), say)


def _systems(options: SweepOptions, say: Say, items: int) -> Systems:
    return Systems(options.workload, items, options.device, options.seed, say)


def _measure(options: SweepOptions, arms: Sequence[Arm], questions: Sequence[Question], points: int = 1) -> list[Row]:
    """Measure one of `points` points of a panel, one list at a time."""
    fresh, calls = [arm.fresh() for arm in arms], in_calls(questions, 1)
    measure(fresh, calls, options.seconds / 4 / points, options.repeats)
    return without_calls(rows_of(fresh, calls, options.size))
