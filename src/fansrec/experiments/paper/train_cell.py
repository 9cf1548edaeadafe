"""One cell: trained, or gone on with where it stopped, then asked about every test list in each of its ways."""

import json
import math
import shutil
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.artifact import CONFIG, MANIFEST
from fansrec.data.corpus import read_corpus
from fansrec.engine.torch.backend import TorchEngine
from fansrec.evaluation.bootstrap import interval
from fansrec.evaluation.metrics import counted
from fansrec.evaluation.protocol import (
    CUTOFFS,
    EvaluationLists,
    Protocol,
    evaluation_lists,
    list_metrics,
    predict,
    protocol,
)
from fansrec.evaluation.rows import open_run
from fansrec.experiments.paper.cells import Cell, agrees, generations, way_name, write_cell
from fansrec.experiments.paper.machine import default_device, machine
from fansrec.experiments.progress import Watchful
from fansrec.training.checkpoint import FOLDER, PLAN
from fansrec.training.trainer import train

# Three ways to count: the paper's, the same without items of the input, and the usual one.
PROTOCOLS = {
    "paper": protocol("paper"),
    "paper, input excluded": protocol("paper", input="excluded"),
    "standard": protocol("standard"),
}
DIGITS = 6


def train_cell(cell: Cell, keep: bool) -> None:
    """Leaves the cell's file and, if told to keep it, the trained model."""
    began = time.monotonic()
    if not _of_today(cell):
        shutil.rmtree(cell.run, ignore_errors=True)
    if not (cell.run / MANIFEST).is_file():
        cell.run.parent.mkdir(parents=True, exist_ok=True)
        train(cell.corpus, cell.run, cell.model, cell.settings, Watchful(), resume=(cell.run / FOLDER).is_dir())
    trained = time.monotonic()
    content = _figures(cell)
    seconds = {"training": round(trained - began, 1), "evaluation": round(time.monotonic() - trained, 1)}
    write_cell(cell, {**content, "seconds": seconds})
    if not keep:
        shutil.rmtree(cell.run)


def _of_today(cell: Cell) -> bool:
    """Whether what is left of an earlier training was begun with today's recipe."""
    for path in (cell.run / CONFIG, cell.run / FOLDER / PLAN):
        if path.is_file():
            saved = json.loads(path.read_text(encoding="utf-8"))
            return agrees(cell, saved["config"] | saved["training"])
    return False


def _figures(cell: Cell) -> dict[str, Any]:
    corpus, device = read_corpus(cell.corpus), default_device()
    artifact = open_run(cell.run, corpus)
    model, asked = artifact.model.to(device), evaluation_lists(corpus, "test")
    ways = {
        way_name(way): {
            name: _judged(TorchEngine(model, len(corpus.vocabulary), device, way), asked, how)
            for name, how in PROTOCOLS.items()
        }
        for way in generations(cell)
    }
    about = {"variant": artifact.config["variant"], "validation": artifact.config.get("validation", {})}
    return {**about, "ways": ways, "machine": machine(device)}


def _judged(engine: TorchEngine, asked: EvaluationLists, how: Protocol) -> dict[str, Any]:
    """Means, intervals, how many lists are behind them, and every list's own value: None where it does not count."""
    figures = list_metrics(predict(engine, asked, how), asked, how)
    judged: dict[str, Any] = {}
    for n in CUTOFFS:
        counts = counted(asked.targets, n, how.name)
        for metric in (f"NDCG@{n}", f"HR@{n}"):
            values = figures[metric]
            judged[metric] = {
                "mean": float(values.mean()) if len(values) else None,
                "interval": interval(values),
                "lists": len(values),
                "values": _spread(values, counts),
            }
    return judged


def _spread(values: NDArray[np.float64], counts: NDArray[np.bool_]) -> list[float | None]:
    every = np.full(len(counts), math.nan)
    every[counts] = values
    return [None if math.isnan(value) else round(value, DIGITS) for value in every.tolist()]
