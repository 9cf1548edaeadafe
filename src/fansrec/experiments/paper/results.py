"""What the finished cells and timings say."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.evaluation.bootstrap import interval
from fansrec.experiments.paper.catalogue import USUAL_CATEGORIES, Choice, Dataset, Experiment, systems
from fansrec.experiments.paper.cells import Corpora, read_cell, seeds_of, way_name
from fansrec.experiments.paper.jobs import trained_timing
from fansrec.experiments.paper.timings import read_timings

METRICS = ("NDCG@5", "NDCG@10", "HR@5", "HR@10")
PAPER = "paper"
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Subject:
    """What figures are about."""

    dataset: str
    system: str
    categories: int = USUAL_CATEGORIES


@dataclass(frozen=True)
class Figure:
    mean: float
    deviation: float | None  # over seeds; None: there is but one
    seeds: int
    lists: int


@dataclass(frozen=True)
class Latency:
    system: str
    categories: int
    milliseconds: dict[int, float]  # by list
    weights: str

    @property
    def mean(self) -> float:
        return float(np.mean(list(self.milliseconds.values())))

    @property
    def interval(self) -> tuple[float, float]:
        return interval(list(self.milliseconds.values())) or (self.mean, self.mean)


@dataclass(frozen=True)
class Latencies:
    """What was timed together on one machine."""

    machine: dict[str, Any]
    rows: list[Latency]

    def of(self, system: str, categories: int = USUAL_CATEGORIES) -> Latency | None:
        return next((row for row in self.rows if (row.system, row.categories) == (system, categories)), None)


@dataclass(frozen=True)
class Ratio:
    """How many times as long one took as the other, over the lists both were given."""

    value: float
    low: float
    high: float
    lists: int


def ratio(slow: Latency, fast: Latency) -> Ratio:
    common = sorted(slow.milliseconds.keys() & fast.milliseconds.keys())
    above, below = ([one.milliseconds[index] for index in common] for one in (slow, fast))
    low, high = interval(above, below) or (float("nan"), float("nan"))
    return Ratio(sum(above) / sum(below), low, high, len(common))


class Results:
    """Reads every cell once."""

    def __init__(self, choice: Choice, corpora: Corpora) -> None:
        self.choice, self.corpora = choice, corpora
        self.known: dict[Subject, list[dict[str, Any]]] = {}

    def cells(self, subject: Subject) -> list[dict[str, Any]]:
        """The contents of the finished ones, a seed each."""
        if subject not in self.known:
            system = systems()[subject.system]
            wanted = [
                self.corpora.cell(subject.dataset, subject.categories, system, seed, self.choice)
                for seed in seeds_of(system, self.choice)
            ]
            found = [read_cell(cell) for cell in wanted if cell is not None]
            self.known[subject] = [content for content in found if content is not None]
        return self.known[subject]

    def judged(self, subject: Subject, metric: str, protocol: str = PAPER) -> list[dict[str, Any]]:
        way = way_name(systems()[subject.system].generation)
        return [content["ways"][way][protocol][metric] for content in self.cells(subject)]

    def figure(self, subject: Subject, metric: str, protocol: str = PAPER) -> Figure | None:
        """Mean and deviation over seeds; None: no seed is finished, or no list counts."""
        seeds = self.judged(subject, metric, protocol)
        means = [seed["mean"] for seed in seeds if seed["mean"] is not None]
        if not means:
            return None
        deviation = float(np.std(means, ddof=1)) if len(means) > 1 else None
        return Figure(float(np.mean(means)), deviation, len(means), seeds[0]["lists"])

    def values(self, subject: Subject, metric: str, protocol: str = PAPER) -> Floats | None:
        """(lists,): each list's value, averaged over seeds; NaN where it does not count."""
        seeds = self.judged(subject, metric, protocol)
        return np.array([seed["values"] for seed in seeds], dtype=np.float64).mean(0) if seeds else None

    def differences(self, left: Subject, right: Subject, metric: str, protocol: str = PAPER) -> Floats | None:
        """(lists,): how much better the left one is on each; 0 where a list does not count."""
        ours, theirs = self.values(left, metric, protocol), self.values(right, metric, protocol)
        return None if ours is None or theirs is None else np.nan_to_num(ours - theirs)

    def latencies(self, experiment: Experiment, dataset: Dataset) -> list[Latencies]:
        """One for every device."""
        timing = trained_timing(experiment, dataset, self.choice, self.corpora)
        return [] if timing is None else [_latencies(found) for found in read_timings(timing)]


def _latencies(found: dict[str, Any]) -> Latencies:
    rows = [
        Latency(row["system"], row["categories"], dict(zip(row["lists"], row["ms"], strict=True)), row["weights"])
        for row in found["rows"]
    ]
    return Latencies(found["machine"], rows)
