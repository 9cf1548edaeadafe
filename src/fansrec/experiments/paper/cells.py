"""A cell: one training of one system on one corpus with one seed, and the small file its figures are kept in."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from fansrec.data.corpus import fingerprint, read_corpus
from fansrec.experiments.paper.catalogue import Choice, System, systems
from fansrec.files import write_text
from fansrec.models.registry import entry
from fansrec.training.settings import FROM_THE_CORPUS, defaults, fixed, known_names, parse, split

FORMAT = 1
SHAPES_NOTHING = {"checkpoint_seconds"}


@dataclass(frozen=True)
class Folder:
    """Where a reproduction keeps what it made."""

    out: Path

    def corpus(self, dataset: str, categories: int) -> Path:
        return self.out / "corpora" / f"{dataset}-{categories}"

    def has_corpus(self, dataset: str, categories: int) -> bool:
        return (self.corpus(dataset, categories) / "summary.json").is_file()


@dataclass(frozen=True)
class Cell:
    folder: Folder
    dataset: str
    categories: int
    system: str
    seed: int
    settings: Mapping[str, Any]  # all that is given to training, the seed among them
    fingerprint: str  # of the corpus

    @property
    def model(self) -> str:
        return systems()[self.system].model

    @property
    def key(self) -> dict[str, Any]:
        """Everything that shapes the figures."""
        settings = dict(sorted(self.settings.items()))
        return {"format": FORMAT, "corpus": self.fingerprint, "model": self.model, "settings": settings}

    @property
    def recipe(self) -> dict[str, Any]:
        """What is trained in full, defaults included: they may change while the key does not."""
        training, of_model = split(defaults(self.model) | fixed(self.model) | parse(self.model, self.settings))
        config = {one.name: one.default for one in fields(entry(self.model).config) if one.name not in FROM_THE_CORPUS}
        every = config | of_model | asdict(training)
        return {name: every[name] for name in sorted(every) if name not in SHAPES_NOTHING}

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.key).encode()).hexdigest()[:12]

    @property
    def place(self) -> str:
        return f"{self.dataset}-{self.categories}/{plain_name(self.system)}-{self.seed}-{self.digest}"

    @property
    def file(self) -> Path:
        return self.folder.out / "cells" / f"{self.place}.json"

    @property
    def run(self) -> Path:
        """The trained model, while it is kept."""
        return self.folder.out / "runs" / self.place

    @property
    def corpus(self) -> Path:
        return self.folder.corpus(self.dataset, self.categories)

    def __str__(self) -> str:
        return f"{self.dataset}, N = {self.categories}, {self.system}, seed {self.seed}"


def plain_name(name: str) -> str:
    """A system's name without what file systems dislike."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name.replace("*", "-star")).strip("-")


def generations(cell: Cell) -> list[str | None]:
    """Every way in which some system asks the weights of this cell; None is the model's own."""
    own = systems()[cell.system].training
    return list(dict.fromkeys(system.generation for system in systems().values() if system.training == own))


def read_cell(cell: Cell) -> dict[str, Any] | None:
    """The figures of a finished cell; None: it is missing, damaged or of other settings, and is to be trained."""
    found = read_object(cell.file)
    if found is None or found.get("key") != cell.key:
        return None
    whole = all(way_name(way) in found["ways"] for way in generations(cell))
    return found if whole and agrees(cell, found["recipe"]) else None


def read_object(path: Path) -> dict[str, Any] | None:
    """What a file of JSON holds; None: there is no such file, or it is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def agrees(cell: Cell, recipe: Mapping[str, Any]) -> bool:
    """Whether a recipe of old is today's; settings that it did not know yet do not count."""
    return all(recipe.get(name, value) == value for name, value in cell.recipe.items())


def write_cell(cell: Cell, content: Mapping[str, Any]) -> None:
    cell.file.parent.mkdir(parents=True, exist_ok=True)
    names = {"dataset": cell.dataset, "categories": cell.categories, "system": cell.system, "seed": cell.seed}
    write_text(cell.file, json.dumps({**names, "key": cell.key, "recipe": cell.recipe, **content}) + "\n")


def way_name(generation: str | None) -> str:
    return generation or "own"


class Corpora:
    """The fingerprints of the prepared corpora, each read once."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.known: dict[tuple[str, int], str] = {}

    def fingerprint(self, dataset: str, categories: int) -> str | None:
        """None: there is no such corpus."""
        if (dataset, categories) not in self.known and self.folder.has_corpus(dataset, categories):
            self.known[dataset, categories] = fingerprint(read_corpus(self.folder.corpus(dataset, categories)))
        return self.known.get((dataset, categories))

    def cell(self, dataset: str, categories: int, system: System, seed: int, choice: Choice) -> Cell | None:
        print_of = self.fingerprint(dataset, categories)
        if print_of is None:
            return None
        trained = next(other for other in systems().values() if other.training == system.training)
        settings = {**system.settings, **_usable(choice.settings, system), "seed": seed}
        return Cell(self.folder, dataset, categories, trained.name, seed, settings, print_of)


def _usable(settings: Mapping[str, Any], system: System) -> Mapping[str, Any]:
    """Those of the settings that the system's model has; one that is not trained by steps has nothing to hurry."""
    known = {} if system.deterministic else known_names(system.model)
    return {name: value for name, value in settings.items() if name in known}


def seeds_of(system: System, choice: Choice) -> tuple[int, ...]:
    return choice.seeds[:1] if system.deterministic else choice.seeds


def cells_of(choice: Choice, corpora: Corpora) -> list[Cell]:
    """Every cell the chosen experiments need, each once, for the corpora that are there."""
    found: dict[Path, Cell] = {}
    for experiment in choice.experiments:
        for dataset in choice.datasets:
            for name, categories in experiment.pairs():
                system = systems()[name]
                for seed in seeds_of(system, choice):
                    cell = corpora.cell(dataset.name, categories, system, seed, choice)
                    if cell is not None:
                        found[cell.file] = cell
    return list(found.values())


def missing(cells: Iterable[Cell]) -> list[Cell]:
    return [cell for cell in cells if read_cell(cell) is None]
