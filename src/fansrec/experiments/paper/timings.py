"""Timings, one list at a time: all systems answer each list in turn, so that a busy moment affects them equally."""

import hashlib
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
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
from fansrec.experiments.cells import Cell, read_object
from fansrec.experiments.machine import describe_machine
from fansrec.experiments.paper.catalogue import systems
from fansrec.files import write_text
from fansrec.training.plan import make_plan
from fansrec.training.trainer import train

WARM_UP = 2  # lists
DEVICES = ("cpu", "cuda")
TRAINED, RANDOM = "trained", "drawn at random"
KEEP_INPUT = Rules(keep_seen=True)


@dataclass(frozen=True)
class Entry:
    """A system to time, and the cell that its weights come from."""

    system: str
    cell: Cell

    @property
    def categories(self) -> int:
        return int(self.cell.labels["categories"])


@dataclass(frozen=True)
class Timing:
    """What is timed; `name` and `key` identify it, and the result is one file per device."""

    out: Path
    name: str
    key: Mapping[str, Any]
    entries: Sequence[Entry] = ()

    def file(self, device: str) -> Path:
        digest = hashlib.sha256(json.dumps(self.key, sort_keys=True).encode()).hexdigest()[:12]
        return self.out / "timings" / f"{self.name}-{device}-{digest}.json"

    def read(self, device: str) -> dict[str, Any] | None:
        """Return the result on `device`, or None if it is missing or damaged."""
        found = read_object(self.file(device))
        return found if found is not None and "rows" in found else None


def read_timings(timing: Timing) -> list[dict[str, Any]]:
    """Return the results of a timing, one per device that it was made on."""
    return [found for device in DEVICES if (found := timing.read(device)) is not None]


def is_finished(timing: Timing, device: str) -> bool:
    """Return whether the result exists, with trained weights for every system whose trained model exists by now."""
    found = timing.read(device)
    if found is None:
        return False
    random = {(row["system"], row["categories"]) for row in found["rows"] if row.get("weights") == RANDOM}
    return not any((entry.system, entry.categories) in random and entry.cell.is_trained for entry in timing.entries)


def write_timing(timing: Timing, device: str, rows: Sequence[Mapping[str, Any]], seconds: float) -> None:
    path = timing.file(device)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"key": timing.key, "machine": describe_machine(device), "seconds": round(seconds, 1), "rows": rows}
    write_text(path, json.dumps(content) + "\n")


@dataclass
class Timed:
    """A loaded system, and the time of each list that it answered."""

    entry: Entry
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

    def row(self) -> dict[str, Any]:
        milliseconds = [round(1000 * second, 4) for second in self.seconds]
        names = {"system": self.entry.system, "categories": self.entry.categories, "weights": self.weights}
        return {**names, "lists": self.lists, "ms": milliseconds}


def time_systems(timing: Timing, device: str) -> None:
    """Time every entry on the same evenly spaced test lists, each until its limit of seconds is used up."""
    started = time.monotonic()
    timed = [_load(entry, device) for entry in timing.entries]
    count = len(timed[0].asked.inputs)
    spaced = np.linspace(0, count - 1, min(timing.key["lists"], count)).astype(int)
    # Shuffled, so that a slow system that gets only the first few lists gets short and long ones.
    shuffled = np.random.default_rng(0).permutation(spaced).tolist()
    for one in timed:
        for index in shuffled[:WARM_UP]:
            one.answer(index)
    for index in shuffled:
        for one in timed:
            if sum(one.seconds) < timing.key["seconds"]:
                one.seconds.append(one.answer(index))
                one.lists.append(index)
    write_timing(timing, device, [one.row() for one in timed], time.monotonic() - started)


def _load(entry: Entry, device: str) -> Timed:
    """Load a system with trained weights if they are kept, else with random ones.

    The time of a two-stage classifier depends on its weights, as it multiplies once for every category that some
    position chose: 1.2 of 10 once trained on AotM, about 7 of 10 with the random weights of `fans bench`.
    """
    cell, system = entry.cell, systems()[entry.system]
    corpus = read_corpus(cell.corpus)
    weights = TRAINED
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
    return Timed(entry, engine, evaluation_lists(corpus, "test"), weights)


def time_generated(timing: Timing, device: str) -> None:
    """Time autoregressive generation and one pass on generated lists of the size of a data set."""
    from fansrec.experiments.speed.generation_modes import compare_generation_modes

    started, key = time.monotonic(), timing.key
    rows = compare_generation_modes(
        key["items"], key["categories"], key["lists"], device, workload=key["workload"], seconds=key["seconds"]
    )
    write_timing(timing, device, rows, time.monotonic() - started)


def time_shares(timing: Timing, device: str) -> None:
    """Time the encoder and the classifier for each number of layers."""
    from fansrec.experiments.speed.shares import encoder_and_classifier

    started, key = time.monotonic(), timing.key
    rows = encoder_and_classifier(key["items"], key["layers"], device, key["lists"])
    write_timing(timing, device, rows, time.monotonic() - started)
