"""Training and measuring one of the compared models. Its folder and its row are kept, so that a run can be resumed."""

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.artifact import MANIFEST, Artifact, read_artifact
from fansrec.data.corpus import Corpus
from fansrec.evaluation.protocol import METRICS, protocol
from fansrec.evaluation.rows import measure_run, open_run
from fansrec.experiments.cells import read_object
from fansrec.experiments.crossval.systems import System
from fansrec.files import write_text
from fansrec.models.registry import has_best
from fansrec.training.checkpoint import FOLDER
from fansrec.training.grid_search import candidates
from fansrec.training.reporting import Reporter
from fansrec.training.trainer import train

PROTOCOL = protocol("standard")


@dataclass(frozen=True)
class Measured:
    """A trained model with its figures on the test lists."""

    name: str  # as --models has it
    model: str
    run: Path  # the folder of the trained model
    row: dict[str, Any]  # as `fans evaluate` writes it
    values: dict[str, NDArray[np.float64]]  # (lists,) by metric
    training_seconds: float | None  # None if it was interrupted
    settings: dict[str, Any]  # that a search on the validation lists found
    tried: int  # settings that were tried
    search_seconds: float | None  # limit of the search; None if there was none

    @property
    def title(self) -> str:
        return str(self.row["variant"])


@dataclass(frozen=True)
class Job:
    """What has to be trained and measured."""

    corpus: Path
    folder: Path  # with a folder `runs` and a folder `rows`
    system: System
    seed: int
    search_seconds: float
    device: str

    @property
    def name(self) -> str:
        default = "best" if has_best(self.system.model) else "paper"
        recipe = "" if self.system.recipe == default else f":{self.system.recipe}"
        return f"{self.system.model}{recipe}" + "".join(f"+{name}={value}" for name, value in self.system.settings)

    @property
    def run(self) -> Path:
        return self.folder / "runs" / re.sub(r"[^A-Za-z0-9_.=-]+", "-", self.name)

    @property
    def row(self) -> Path:
        return self.folder / "rows" / f"{self.run.name}.json"

    @property
    def key(self) -> dict[str, Any]:
        """What the model depends on, besides the time of its search."""
        return {"system": str(self.system), "seed": self.seed}


def measure(job: Job, corpus: Corpus, reporter: Reporter) -> Measured:
    """Return the model with its figures; what exists already is not trained or measured again."""
    found = read_object(job.row)
    if found is None or not _is_trained(job, found):
        found = {"key": job.key, **_train(job, reporter)}
        _write(job, found)
    if found.get("device") != job.device:
        found |= _evaluate(job, corpus)
        _write(job, found)
    values = {name: np.array(own) for name, own in found["values"].items()}
    about = (found["training_seconds"], found["settings"], found["tried"], found["search_seconds"])
    return Measured(job.name, job.system.model, job.run, found["row"], values, *about)


def _is_trained(job: Job, found: dict[str, Any]) -> bool:
    """Return whether the model is there; a search that a longer one would change does not count."""
    if found.get("key") != job.key or not (job.run / MANIFEST).is_file():
        return False
    used = found["search_seconds"]
    return used is None or used >= job.search_seconds or found["tried"] == len([*candidates(job.system.model)])


def _train(job: Job, reporter: Reporter) -> dict[str, Any]:
    """Train the model, or resume its training; return the seconds if it was not interrupted, and what was searched."""
    started, resumed = time.monotonic(), (job.run / FOLDER).is_dir() and not (job.run / MANIFEST).is_file()
    job.run.parent.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {"resume": resumed, "compare": False, "search_seconds": job.search_seconds}
    settings = job.system.training_settings(job.seed)
    train(job.corpus, job.run, job.system.model, settings, reporter, recipe="paper", force=not resumed, **options)
    seconds = None if resumed else round(time.monotonic() - started, 1)
    found = _search(read_artifact(job.run))
    return {"training_seconds": seconds, **found, "search_seconds": job.search_seconds if found["settings"] else None}


def _search(artifact: Artifact) -> dict[str, Any]:
    """Return the settings that a grid search found, and how many were tried; the default model has parts instead."""
    tried = artifact.config.get("search", [])
    grid = getattr(artifact.model, "search", {}) if tried else {}
    return {"settings": {name: artifact.config["validation"][name] for name in grid}, "tried": len(tried)}


def _evaluate(job: Job, corpus: Corpus) -> dict[str, Any]:
    measured = measure_run(open_run(job.run, corpus), corpus, PROTOCOL, device=job.device)
    values = {name: measured.metrics[name].round(6).tolist() for name in METRICS}
    return {"device": job.device, "row": measured.row, "values": values}


def _write(job: Job, found: dict[str, Any]) -> None:
    job.row.parent.mkdir(exist_ok=True)
    write_text(job.row, json.dumps(found) + "\n")
