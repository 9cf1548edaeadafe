"""Timings: one list at a time, all systems in turn on each list, so that a busy moment hits them alike."""

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

from fansrec.artifact import MANIFEST
from fansrec.data.corpus import read_corpus
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.evaluation.protocol import EvaluationLists, evaluation_lists
from fansrec.evaluation.rows import open_run
from fansrec.experiments.paper.catalogue import systems
from fansrec.experiments.paper.cells import Cell, Folder, read_object
from fansrec.experiments.paper.machine import machine
from fansrec.files import write_text
from fansrec.training.plan import make_plan
from fansrec.training.trainer import train

WARM_UP = 2
DEVICES = ("cpu", "cuda")
TRAINED, RANDOM = "trained", "drawn at random"
KEEP_INPUT = Rules(keep_seen=True)


@dataclass(frozen=True)
class Entry:
    """A system to be timed, and the cell whose weights it has."""

    system: str
    cell: Cell


@dataclass(frozen=True)
class Timing:
    """What is timed, told by `name` and `key`; the result is one file a device."""

    folder: Folder
    name: str
    key: Mapping[str, Any]
    entries: Sequence[Entry] = ()

    def file(self, device: str) -> Path:
        digest = hashlib.sha256(json.dumps(self.key, sort_keys=True).encode()).hexdigest()[:12]
        return self.folder.out / "timings" / f"{self.name}-{device}-{digest}.json"


def read_timings(timing: Timing) -> list[dict[str, Any]]:
    """Its results, one for every device it was measured on; a damaged one counts as not made."""
    found = [read_object(timing.file(device)) for device in DEVICES]
    return [content for content in found if content is not None and "rows" in content]


def is_made(timing: Timing, device: str) -> bool:
    """Whether its result is there, with trained weights wherever there are any by now."""
    found = read_object(timing.file(device))
    if found is None or "rows" not in found:
        return False
    random = {(row["system"], row["categories"]) for row in found["rows"] if row.get("weights") == RANDOM}
    return not any((entry.system, entry.cell.categories) in random and _kept(entry.cell) for entry in timing.entries)


def _kept(cell: Cell) -> bool:
    return (cell.run / MANIFEST).is_file()


def write_timing(timing: Timing, device: str, rows: Sequence[Mapping[str, Any]], seconds: float) -> None:
    path = timing.file(device)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"key": timing.key, "machine": machine(device), "seconds": round(seconds, 1), "rows": rows}
    write_text(path, json.dumps(content) + "\n")


@dataclass
class Timed:
    entry: Entry
    engine: TorchEngine
    asked: EvaluationLists
    weights: str
    lists: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def ask(self, index: int) -> float:
        """The answer is in numpy's hands at the end, so a GPU has finished it."""
        began = time.perf_counter()
        self.engine.continue_lists([self.asked.inputs[index]], len(self.asked.targets[index]), KEEP_INPUT)
        return time.perf_counter() - began

    def row(self) -> dict[str, Any]:
        milliseconds = [round(1000 * second, 4) for second in self.seconds]
        names = {"system": self.entry.system, "categories": self.entry.cell.categories, "weights": self.weights}
        return {**names, "lists": self.lists, "ms": milliseconds}


def time_systems(timing: Timing, device: str) -> None:
    """Every entry on the same evenly spread test lists; one over its seconds gets no more of them."""
    began = time.monotonic()
    timed = [_opened(entry, device) for entry in timing.entries]
    count = len(timed[0].asked.inputs)
    spread = np.linspace(0, count - 1, min(timing.key["lists"], count)).astype(int)
    # Mixed, so that a slow system which gets but the first few gets short and long ones.
    mixed = np.random.default_rng(0).permutation(spread).tolist()
    for one in timed:
        for index in mixed[:WARM_UP]:
            one.ask(index)
    for index in mixed:
        for one in timed:
            if sum(one.seconds) < timing.key["seconds"]:
                one.seconds.append(one.ask(index))
                one.lists.append(index)
    write_timing(timing, device, [one.row() for one in timed], time.monotonic() - began)


def _opened(entry: Entry, device: str) -> Timed:
    """With trained weights where they are kept, else with random ones.

    A two-stage classifier's time depends on them, as it multiplies once for every category that some position chose:
    1.2 of 10 once trained on AotM, about 7 of 10 with the bench's random weights.
    """
    cell = entry.cell
    corpus = read_corpus(cell.corpus)
    weights = TRAINED
    if _kept(cell):
        model = open_run(cell.run, corpus).model
    elif systems()[entry.system].deterministic:  # large and quickly made, so they are not kept
        with tempfile.TemporaryDirectory() as folder:
            train(cell.corpus, Path(folder) / "run", cell.model, cell.settings)
            model = open_run(Path(folder) / "run", corpus).model
    else:
        torch.manual_seed(cell.seed)
        model, weights = make_plan(cell.model, cell.settings, corpus).build().eval(), RANDOM
    engine = TorchEngine(model.to(device), len(corpus.vocabulary), device, systems()[entry.system].generation)
    return Timed(entry, engine, evaluation_lists(corpus, "test"), weights)


def time_generated(timing: Timing, device: str) -> None:
    """One-by-one generation against one pass at the size of a set that need not be at hand."""
    from fansrec.experiments.speed.one_by_one import one_by_one_against_one_pass

    began, key = time.monotonic(), timing.key
    rows = one_by_one_against_one_pass(
        key["items"], key["categories"], key["lists"], device, workload=key["workload"], seconds=key["seconds"]
    )
    write_timing(timing, device, rows, time.monotonic() - began)


def time_shares(timing: Timing, device: str) -> None:
    """Encoder and classifier by the number of layers."""
    from fansrec.experiments.speed.shares import encoder_and_classifier

    began, key = time.monotonic(), timing.key
    rows = encoder_and_classifier(key["items"], key["layers"], device, key["lists"])
    write_timing(timing, device, rows, time.monotonic() - began)
