"""Running a cell: train the model or resume its training, evaluate it list by list, write the cell's file."""

import json
import math
import os
import shutil
import time
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from fansrec.artifact import CONFIG, Artifact
from fansrec.data.corpus import Corpus, read_corpus
from fansrec.errors import Interrupted
from fansrec.evaluation.metrics import counted, spread
from fansrec.evaluation.protocol import CUTOFFS
from fansrec.evaluation.rows import measure_run, open_run
from fansrec.experiments.cells import Cell, Content, Evaluation, agrees, write_cell
from fansrec.experiments.machine import default_device, describe_machine
from fansrec.models.config import flat_settings
from fansrec.training.checkpoint import FOLDER, PLAN
from fansrec.training.plan import make_plan
from fansrec.training.reporting import Reporter
from fansrec.training.trainer import train

DIGITS = 6  # of a list's value in the file


class OrphanGuard(Reporter):
    """A silent training reporter that stops the training run if the parent process has died."""

    def __init__(self) -> None:
        self.parent = os.getppid()

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        if os.getppid() != self.parent:
            raise Interrupted("the process that started this training run has died")


def run_cell(cell: Cell, keep: bool) -> str:
    """Train or resume the model, evaluate it and write the cell; return a summary. `keep` keeps the trained model."""
    started, corpus = time.monotonic(), read_corpus(cell.corpus)
    trained = _train(cell, corpus)
    seconds = round(time.monotonic() - started, 1) if trained else None
    started = time.monotonic()
    content = _evaluate(cell, corpus)
    times = {"training": seconds, "evaluation": round(time.monotonic() - started, 1)}
    write_cell(cell, {**content, "seconds": times})
    if not keep:
        shutil.rmtree(cell.run)
    name, figures = next(iter(content["evaluations"].items()))
    value = figures["row"]["NDCG@5"]
    return f"NDCG@5 {'–' if value is None else f'{value:.4f}'} ({name})"


def _train(cell: Cell, corpus: Corpus) -> bool:
    """Train the model unless a current one is kept from an earlier run; return whether it was trained."""
    if not _is_current(cell, corpus):
        shutil.rmtree(cell.run, ignore_errors=True)
    if cell.is_trained:
        return False
    cell.run.parent.mkdir(parents=True, exist_ok=True)
    interrupted = (cell.run / FOLDER).is_dir()
    train(cell.corpus, cell.run, cell.model, cell.settings, OrphanGuard(), interrupted, compare=False, recipe="paper")
    return True


def _is_current(cell: Cell, corpus: Corpus) -> bool:
    """Return whether a kept or interrupted run was started on this corpus with today's defaults."""
    plan = json.loads(json.dumps(asdict(make_plan(cell.model, cell.settings, corpus))))
    # The recipe best changes the configuration during training.
    compared = ("training", "config") if plan["training"]["recipe"] == "paper" else ("training",)
    for path in (cell.run / CONFIG, cell.run / FOLDER / PLAN):
        if path.is_file():
            saved = json.loads(path.read_text(encoding="utf-8"))
            same = all(saved.get(name) == plan[name] for name in ("model", "fingerprint"))
            return same and all(agrees(saved[name], plan[name]) for name in compared)
    return False


def _evaluate(cell: Cell, corpus: Corpus) -> Content:
    device, artifact = default_device(), open_run(cell.run, corpus)
    return {
        "lists": corpus.part(cell.part).tolist(),
        "evaluations": {
            name: _figures(artifact, corpus, evaluation, cell.part, device)
            for name, evaluation in cell.evaluations.items()
        },
        "trained": _trained(artifact),
        "machine": describe_machine(device),
    }


def _figures(artifact: Artifact, corpus: Corpus, evaluation: Evaluation, part: str, device: str) -> Content:
    """Return the row of an evaluation and the values of every list behind it: None where a list does not count."""
    measured = measure_run(artifact, corpus, part=part, device=device, **vars(evaluation))
    values = {
        metric: _per_list(measured.metrics[metric], counted(measured.lists.targets, n, evaluation.protocol.name))
        for n in CUTOFFS
        for metric in (f"NDCG@{n}", f"HR@{n}")
    }
    # Counts per list, and their expected values if the answers were shuffled.
    shuffled = {f"{name}_shuffled": count.round(DIGITS) for name, count in vars(measured.shuffled).items()}
    order = {name: count.tolist() for name, count in {**vars(measured.order), **shuffled}.items()}
    return {"row": measured.row, "values": values, "order": order}


def _per_list(values: NDArray[np.float64], counts: NDArray[np.bool_]) -> list[float | None]:
    return [None if math.isnan(value) else round(value, DIGITS) for value in spread(values, counts).tolist()]


def _trained(artifact: Artifact) -> Content:
    """Return the full configuration of the trained model, without the long list of category starts."""
    settings = flat_settings(artifact.model.config)
    config = {name: value for name, value in settings.items() if name != "category_starts"}
    about = {name: artifact.config.get(name) for name in ("variant", "training", "validation", "search")}
    return {**about, "config": config}
