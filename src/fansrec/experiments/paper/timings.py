"""Timings, one list at a time: all systems answer each list in turn, so that a busy moment affects them equally."""

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fansrec.data.corpus import read_corpus
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.evaluation.protocol import EvaluationLists, evaluation_lists
from fansrec.evaluation.rows import open_run
from fansrec.experiments.cells import Cell, Content, read_object
from fansrec.experiments.machine import describe_machine
from fansrec.experiments.paper.catalogue import Dataset, Experiment, Selection, systems
from fansrec.experiments.paper.cells import Corpora
from fansrec.experiments.speed.latency import compare_generation_modes
from fansrec.experiments.speed.shares import encoder_and_classifier
from fansrec.experiments.speed.workloads import workload
from fansrec.files import write_text
from fansrec.training.plan import make_plan
from fansrec.training.trainer import train

WARM_UP = 2  # lists
DEVICES = ("cpu", "cuda")
TRAINED, RANDOM = "trained", "drawn at random"
KEEP_INPUT = Rules(keep_seen=True)
Subject = tuple[str, int]  # a system and its number of categories


@dataclass(frozen=True)
class Timing:
    """What is timed; `name` and `key` identify it, and the result is one file per device."""

    out: Path
    name: str
    key: Mapping[str, Any]
    generated: Callable[..., list[Content]] | None = None  # makes the rows from the values of `key` and a device
    entries: Mapping[Subject, Cell] = field(default_factory=dict)  # the systems to time, and where their weights are

    def file(self, device: str) -> Path:
        digest = hashlib.sha256(json.dumps(self.key, sort_keys=True).encode()).hexdigest()[:12]
        return self.out / "timings" / f"{self.name}-{device}-{digest}.json"

    def read(self, device: str) -> Content | None:
        """Return the result on `device`, or None if it is missing or damaged."""
        found = read_object(self.file(device))
        return found if found is not None and "rows" in found else None

    def is_finished(self, device: str) -> bool:
        """Return whether the result exists, with trained weights for every system whose trained model exists by now."""
        found = self.read(device)
        if found is None:
            return False
        random = {(row["system"], row["categories"]) for row in found["rows"] if row.get("weights") == RANDOM}
        return not any(subject in random and cell.is_trained for subject, cell in self.entries.items())

    def results(self) -> list[Content]:
        """Return the results, one per device that the timing was made on."""
        return [found for device in DEVICES if (found := self.read(device)) is not None]


def required_timings(selection: Selection, corpora: Corpora) -> Iterator[Timing]:
    """Yield every timing that the selected experiments need."""
    for experiment in selection.experiments:
        for dataset in selection.datasets:
            yield from trained_timing(experiment, dataset, selection, corpora)
        yield from generated_timings(experiment, corpora)
        yield from shares_timing(experiment, corpora)


def trained_timing(
    experiment: Experiment, dataset: Dataset, selection: Selection, corpora: Corpora
) -> Iterator[Timing]:
    """Yield the timing of an experiment's systems on the test lists of a data set, if it has one."""
    if experiment.latency is None:
        return
    entries = {
        (name, categories): cells[0]  # of the first seed
        for name, categories in experiment.pairs()
        if (cells := corpora.cells(dataset.name, categories, name, selection))
    }
    if entries:
        key = {**experiment.latency, "timed": [[*subject, cell.key] for subject, cell in entries.items()]}
        yield Timing(corpora.out, f"{experiment.name}-{dataset.name}", key, entries=entries)


def generated_timings(experiment: Experiment, corpora: Corpora) -> Iterator[Timing]:
    """Yield the timings of an experiment's numbers of categories at the sizes of the paper's data sets."""
    limits = experiment.extra.get("generated", {"sizes": ()})
    for size in limits["sizes"]:
        items = min(workload(size).items, limits.get("most_items", workload(size).items))
        key = {"workload": size, "items": items, "categories": list(experiment.categories)}
        key |= {"lists": limits["lists"], "seconds": limits["seconds"]}
        yield Timing(corpora.out, f"{experiment.name}-generated-{size}", key, compare_generation_modes)


def shares_timing(experiment: Experiment, corpora: Corpora) -> Iterator[Timing]:
    """Yield the timing of encoder and classifier for each number of layers, if the experiment has one."""
    if "shares" in experiment.extra:
        yield Timing(corpora.out, f"{experiment.name}-shares", experiment.extra["shares"], encoder_and_classifier)


def run_timing(timing: Timing, device: str) -> None:
    started = time.monotonic()
    rows = time_systems(timing, device) if timing.generated is None else timing.generated(**timing.key, device=device)
    write_timing(timing, device, rows, time.monotonic() - started)


def write_timing(timing: Timing, device: str, rows: Sequence[Content], seconds: float) -> None:
    path = timing.file(device)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"key": timing.key, "machine": describe_machine(device), "seconds": round(seconds, 1), "rows": rows}
    write_text(path, json.dumps(content) + "\n")


@dataclass
class Timed:
    """A loaded system, and the time of each list that it answered."""

    engine: TorchEngine
    asked: EvaluationLists
    weights: str
    lists: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def answer(self, index: int) -> float:
        """Return the seconds of one answer; it is a numpy array at the end, so a GPU has finished it."""
        started = time.perf_counter()
        self.engine.continue_lists([self.asked.inputs[index]], len(self.asked.targets[index]), KEEP_INPUT)
        return time.perf_counter() - started


def time_systems(timing: Timing, device: str) -> list[Content]:
    """Time every entry on the same evenly spaced test lists, each until its limit of seconds is used up."""
    timed = {subject: _load(subject[0], cell, device) for subject, cell in timing.entries.items()}
    count = len(next(iter(timed.values())).asked.inputs)
    spaced = np.linspace(0, count - 1, min(timing.key["lists"], count)).astype(int)
    # Shuffled, so that a slow system that gets only the first few lists gets short and long ones.
    shuffled = np.random.default_rng(0).permutation(spaced).tolist()
    for one in timed.values():
        for index in shuffled[:WARM_UP]:
            one.answer(index)
    for index in shuffled:
        for one in timed.values():
            if sum(one.seconds) < timing.key["seconds"]:
                one.seconds.append(one.answer(index))
                one.lists.append(index)
    return [
        {"system": system, "categories": categories, "weights": one.weights, "lists": one.lists}
        | {"ms": [round(1000 * second, 4) for second in one.seconds]}
        for (system, categories), one in timed.items()
    ]


def _load(name: str, cell: Cell, device: str) -> Timed:
    """Load a system with trained weights if they are kept, else with random ones.

    The time of a two-stage classifier depends on its weights, as it multiplies once for every category that some
    position chose: 1.2 of 10 once trained on AotM, about 7 of 10 with the random weights of `fans bench`.
    """
    corpus, system, weights = read_corpus(cell.corpus), systems()[name], TRAINED
    if cell.is_trained:
        model = open_run(cell.run, corpus).model
    elif system.deterministic:  # large and quickly trained, so not kept
        with tempfile.TemporaryDirectory() as folder:
            train(cell.corpus, Path(folder) / "run", cell.model, cell.settings, recipe="paper", compare=False)
            model = open_run(Path(folder) / "run", corpus).model
    else:
        torch.manual_seed(cell.labels["seed"])
        model, weights = make_plan(cell.model, cell.settings, corpus).build().eval(), RANDOM
    engine = TorchEngine(model.to(device), len(corpus.vocabulary), device, system.generation)
    return Timed(engine, evaluation_lists(corpus, "test"), weights)
