"""Cells, the unit of work of all experiments: a cell trains a model on a corpus, evaluates it, and is one JSON file.

`paper` and `crossval` only decide which cells they need. A cell whose file is present and current is not run again, and
an interrupted training run is resumed, so the same command continues where it stopped.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from fansrec.artifact import MANIFEST
from fansrec.evaluation.protocol import Protocol
from fansrec.files import write_text
from fansrec.models.registry import entry
from fansrec.training.settings import FROM_THE_CORPUS, defaults, fixed, parse, split

FORMAT = 2
NO_EFFECT = {"checkpoint_seconds"}  # settings that do not change the trained model
Content = dict[str, Any]


@dataclass(frozen=True)
class Evaluation:
    """How a trained model is evaluated: arguments of `measure_run`."""

    protocol: Protocol
    generation: str | None = None  # None: the model's default generation mode
    backend: str | None = None  # None: the fastest backend in full precision
    timed: bool = True


@dataclass(frozen=True)
class Cell:
    """One training run with one seed, and the evaluations of the trained model on one part of the corpus."""

    folder: Path  # the results are in its cells/, the trained models in its runs/
    name: str  # of both files, before the digest
    title: str  # in messages
    corpus: Path
    fingerprint: str  # of the corpus
    model: str
    settings: Mapping[str, Any]  # all settings given to training, including the seed
    evaluations: Mapping[str, Evaluation]
    labels: Mapping[str, Any] = field(default_factory=dict)  # written to the file: system, seed, fold, …
    part: str = "test"

    @property
    def training_key(self) -> dict[str, Any]:
        """Everything given that determines the trained model."""
        settings = dict(sorted(self.settings.items()))
        return {"format": FORMAT, "corpus": self.fingerprint, "model": self.model, "settings": settings}

    @property
    def key(self) -> dict[str, Any]:
        return {**self.training_key, "part": self.part}

    @property
    def run(self) -> Path:
        """The folder of the trained model, while it is kept; the cells of all parts share it."""
        digest = hashlib.sha256(json.dumps(self.training_key).encode()).hexdigest()[:12]
        return self.folder / "runs" / f"{self.name}-{digest}"

    @property
    def file(self) -> Path:
        return self.folder / "cells" / f"{self.run.relative_to(self.folder / 'runs')}-{self.part}.json"

    @property
    def is_trained(self) -> bool:
        return (self.run / MANIFEST).is_file()

    @property
    def all_settings(self) -> dict[str, Any]:
        """The given settings and today's defaults of the others, which may change while the key does not."""
        recipe = str(self.settings.get("recipe", "paper"))
        values = defaults(self.model, recipe) | fixed(self.model, recipe) | parse(self.model, self.settings)
        training, of_model = split(values)
        config = fields(entry(self.model).config) if recipe == "paper" else ()  # best: from the corpus
        config_defaults = {one.name: one.default for one in config if one.name not in FROM_THE_CORPUS}
        return dict(sorted((config_defaults | of_model | asdict(training)).items()))

    def __str__(self) -> str:
        return self.title


def read_cell(cell: Cell) -> Content | None:
    """Return the content of a finished cell; None if it is missing, damaged or made with other settings or defaults."""
    found = read_object(cell.file)
    if found is None or found.get("key") != cell.key:
        return None
    complete = cell.evaluations.keys() <= found["evaluations"].keys()
    return found if complete and agrees(found["all_settings"], cell.all_settings) else None


def read_object(path: Path) -> Content | None:
    """Return the JSON object in a file, or None if the file is missing or damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def agrees(saved: Mapping[str, Any], current: Mapping[str, Any]) -> bool:
    """Return whether all saved settings have their current values; settings added since then do not count."""
    return all(saved.get(name, value) == value for name, value in current.items() if name not in NO_EFFECT)


def unfinished(cells: Iterable[Cell], say: Callable[[str], None] = lambda text: None) -> list[Cell]:
    """Return the cells to run, and report files that cannot be used to `say`."""
    found = [cell for cell in cells if read_cell(cell) is None]
    for cell in found:
        if cell.file.exists():
            say(f"{cell.file} is damaged or was made with other settings; the cell is run again")
    return found


def write_cell(cell: Cell, content: Mapping[str, Any]) -> None:
    cell.file.parent.mkdir(parents=True, exist_ok=True)
    about = {**cell.labels, "part": cell.part, "key": cell.key, "all_settings": cell.all_settings}
    write_text(cell.file, json.dumps({**about, **content}, allow_nan=False) + "\n")
