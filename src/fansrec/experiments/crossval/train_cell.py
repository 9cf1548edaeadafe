"""One cell: trained, or gone on with where it stopped, then judged list by list in both ways of asking."""

import json
import math
import shutil
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.artifact import CONFIG, MANIFEST, Artifact
from fansrec.data.corpus import Corpus, read_corpus
from fansrec.evaluation.metrics import counted
from fansrec.evaluation.protocol import CUTS, Protocol, protocol
from fansrec.evaluation.rows import Measured, measure_run, open_run
from fansrec.experiments.crossval.cells import Cell, write_cell
from fansrec.experiments.paper.machine import default_device, machine
from fansrec.experiments.progress import Watchful
from fansrec.models.config import flat_settings
from fansrec.training.checkpoint import FOLDER, PLAN
from fansrec.training.plan import make_plan
from fansrec.training.trainer import train

# Ten items for everybody, as in use; or as many as the list really goes on with, as in the paper.
WAYS = {"k fixed": protocol("standard"), "k known": protocol("paper", input="excluded")}
DIGITS = 6


def train_cell(cell: Cell, keep: bool) -> str:
    """Leaves the cell's file and, if told to keep it, the trained model; says how good it is."""
    began, corpus = time.monotonic(), read_corpus(cell.corpus)
    trained = _train(cell, corpus)
    seconds = round(time.monotonic() - began, 1) if trained else None
    began = time.monotonic()
    content = _judged(cell, corpus)
    write_cell(cell, {**content, "seconds": {"training": seconds, "evaluation": round(time.monotonic() - began, 1)}})
    if not keep:
        shutil.rmtree(cell.run)
    return ", ".join(f"{way}: NDCG@5 {_short(judged['row']['NDCG@5'])}" for way, judged in content["ways"].items())


def _train(cell: Cell, corpus: Corpus) -> bool:
    """False: there was a trained model already, of a run that kept its weights or was stopped while judging."""
    if not _of_today(cell, corpus):
        shutil.rmtree(cell.run, ignore_errors=True)
    if (cell.run / MANIFEST).is_file():
        return False
    cell.run.parent.mkdir(parents=True, exist_ok=True)
    values, begun = cell.system.values(cell.seed), (cell.run / FOLDER).is_dir()
    train(cell.corpus, cell.run, cell.system.model, values, Watchful(), resume=begun)
    return True


def _of_today(cell: Cell, corpus: Corpus) -> bool:
    """Whether what is left of an earlier training was begun on this fold with today's defaults."""
    plan = json.loads(json.dumps(make_plan(cell.system.model, cell.system.values(cell.seed), corpus).plain()))
    for path in (cell.run / CONFIG, cell.run / FOLDER / PLAN):
        if path.is_file():
            saved = json.loads(path.read_text(encoding="utf-8"))
            return all(saved.get(name) == plan[name] for name in ("model", "training", "fingerprint"))
    return False


def _judged(cell: Cell, corpus: Corpus) -> dict[str, Any]:
    device, artifact = default_device(), open_run(cell.run, corpus)
    return {
        "lists": corpus.part(cell.part).tolist(),
        "ways": {name: _way(artifact, corpus, how, cell.part, device) for name, how in WAYS.items()},
        "chosen": _chosen(artifact),
        "machine": machine(device),
    }


def _way(artifact: Artifact, corpus: Corpus, how: Protocol, part: str, device: str) -> dict[str, Any]:
    """The row of an evaluation and what each list adds to it: None where it does not count."""
    measured = measure_run(artifact, corpus, how, part, device=device)
    values = {
        metric: _spread(measured.figures[metric], counted(measured.asked.targets, n, how.name))
        for n in CUTS
        for metric in (f"NDCG@{n}", f"HR@{n}")
    }
    return {"row": measured.row, "values": values, "order": _order(measured)}


def _order(measured: Measured) -> dict[str, list[float]]:
    """Counts, one a list, and what they would be on average if the answers were shuffled."""
    order, mixed = measured.order, measured.shuffled
    counts = {
        "pairs": order.pairs,
        "in_order": order.in_order,
        "positions": order.positions,
        "exact": order.exact,
        "exact_shuffled": mixed.exact.round(DIGITS),
        "steps": order.steps,
        "adjacent": order.adjacent,
        "adjacent_shuffled": mixed.adjacent.round(DIGITS),
    }
    return {name: values.tolist() for name, values in counts.items()}


def _spread(values: NDArray[np.float64], counts: NDArray[np.bool_]) -> list[float | None]:
    every = np.full(len(counts), math.nan)
    every[counts] = values
    return [None if math.isnan(value) else round(value, DIGITS) for value in every.tolist()]


def _chosen(artifact: Artifact) -> dict[str, Any]:
    """What was trained in full; where categories begin is the corpus's, and long."""
    settings = flat_settings(artifact.model.config)
    config = {name: value for name, value in settings.items() if name != "category_starts"}
    told = {name: artifact.config.get(name) for name in ("variant", "training", "validation", "search")}
    return {**told, "config": config}


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
