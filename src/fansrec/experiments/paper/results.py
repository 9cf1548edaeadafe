"""The figures of the finished cells and timings."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fansrec.evaluation.bootstrap import interval
from fansrec.evaluation.significance import Floats
from fansrec.experiments.cells import Content, read_cell
from fansrec.experiments.machine import format_machine
from fansrec.experiments.paper.catalogue import DEFAULT_CATEGORIES, Dataset, Experiment, Selection, systems
from fansrec.experiments.paper.cells import Corpora, evaluation_name
from fansrec.experiments.paper.timings import Timing, generated_timings, shares_timing, trained_timing

METRICS = ("NDCG@5", "NDCG@10", "HR@5", "HR@10")
PAPER = "paper"


@dataclass(frozen=True)
class Subject:
    """A system on a data set with a number of categories."""

    dataset: str
    system: str
    categories: int = DEFAULT_CATEGORIES


@dataclass(frozen=True)
class Figure:
    """The mean of a metric over seeds."""

    mean: float
    deviation: float | None  # standard deviation over seeds; None with one seed
    lists: int


@dataclass(frozen=True)
class Latency:
    """The times of one system."""

    milliseconds: dict[int, float]  # by index of the list
    weights: str

    @property
    def mean(self) -> float:
        return float(np.mean(list(self.milliseconds.values())))

    @property
    def interval(self) -> tuple[float, float]:
        return interval(list(self.milliseconds.values())) or (self.mean, self.mean)


@dataclass(frozen=True)
class Latencies:
    """The systems that were timed together on one machine."""

    machine: str
    rows: dict[tuple[str, int], Latency]  # by system and number of categories

    def of(self, system: str, categories: int = DEFAULT_CATEGORIES) -> Latency | None:
        return self.rows.get((system, categories))


def ratio(slow: Latency, fast: Latency) -> tuple[float, float, float]:
    """Return the total time of one system over that of another, over their common lists, and its interval."""
    common = sorted(slow.milliseconds.keys() & fast.milliseconds.keys())
    above, below = ([one.milliseconds[index] for index in common] for one in (slow, fast))
    low, high = interval(above, below) or (float("nan"), float("nan"))
    return sum(above) / sum(below), low, high


class Results:
    """Access to all figures of a selection; every cell is read once."""

    def __init__(self, selection: Selection, corpora: Corpora) -> None:
        self.selection, self.corpora = selection, corpora
        self.contents: dict[Subject, list[Content]] = {}

    def cells(self, subject: Subject) -> list[Content]:
        """Return the contents of the finished cells, one per seed."""
        if subject not in self.contents:
            cells = self.corpora.cells(subject.dataset, subject.categories, subject.system, self.selection)
            found = [read_cell(cell) for cell in cells]
            self.contents[subject] = [content for content in found if content is not None]
        return self.contents[subject]

    def _evaluations(self, subject: Subject, protocol: str) -> list[Content]:
        name = evaluation_name(systems()[subject.system].generation, protocol)
        return [content["evaluations"][name] for content in self.cells(subject)]

    def figure(self, subject: Subject, metric: str, protocol: str = PAPER) -> Figure | None:
        """Return the mean and deviation over seeds, or None if no seed is finished or no list counts."""
        rows = [evaluation["row"] for evaluation in self._evaluations(subject, protocol)]
        means = [row[metric] for row in rows if row[metric] is not None]
        if not means:
            return None
        deviation = float(np.std(means, ddof=1)) if len(means) > 1 else None
        lists = rows[0][f"lists@{metric.partition('@')[2]}"]
        return Figure(float(np.mean(means)), deviation, lists)

    def values(self, subject: Subject, metric: str, protocol: str = PAPER) -> Floats | None:
        """Return the value of each list averaged over seeds, shape (lists,); NaN where a list does not count."""
        seeds = [evaluation["values"][metric] for evaluation in self._evaluations(subject, protocol)]
        return np.array(seeds, dtype=np.float64).mean(0) if seeds else None

    def differences(self, left: Subject, right: Subject, metric: str, protocol: str = PAPER) -> Floats | None:
        """Return left minus right for each list, shape (lists,); 0 where a list does not count."""
        ours, theirs = self.values(left, metric, protocol), self.values(right, metric, protocol)
        return None if ours is None or theirs is None else np.nan_to_num(ours - theirs)

    def latencies(self, experiment: Experiment, dataset: Dataset) -> list[Latencies]:
        """Return the timings of an experiment's systems, one per device."""
        timing = trained_timing(experiment, dataset, self.selection, self.corpora)
        return [_latencies(found) for found in _results(timing)]

    def generated(self, experiment: Experiment) -> list[Content]:
        """Return the timings of an experiment at generated sizes, one per size and device."""
        return _results(generated_timings(experiment, self.corpora))

    def shares(self, experiment: Experiment) -> list[Content]:
        """Return the times of encoder and classifier, one per device."""
        return _results(shares_timing(experiment, self.corpora))


def _results(timings: Iterable[Timing]) -> list[Content]:
    """Return all results of the timings, with the name of the machine."""
    found = [found for timing in timings for found in timing.results()]
    return [{**one, "device": one["machine"]["device"], "machine": format_machine(one["machine"])} for one in found]


def _latencies(found: Content) -> Latencies:
    rows = {}
    for row in found["rows"]:
        milliseconds = dict(zip(row["lists"], row["ms"], strict=True))
        rows[row["system"], row["categories"]] = Latency(milliseconds, row["weights"])
    return Latencies(found["machine"], rows)


def times_by_categories(found: Content) -> dict[int, float]:
    """Return the mean milliseconds of FANS by number of categories, at a generated size."""
    rows = [row for row in found["rows"] if row["model"] == "fans"]
    return dict(sorted((row["categories"], row["mean_ms"]) for row in rows))
