"""A cell: one system trained on one fold with one seed and judged on one part, kept in one small file."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fansrec.data.corpus import fingerprint, read_corpus
from fansrec.experiments.crossval.split import fold_folder
from fansrec.experiments.crossval.systems import System
from fansrec.files import write_text

FORMAT = 1
HOLDS = {"key", "lists", "ways", "seconds", "chosen"}
Content = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    folder: Path
    fold: int
    fingerprint: str  # of the fold's corpus
    system: System
    seed: int
    part: str

    @property
    def training(self) -> dict[str, Any]:
        """All that shapes the weights."""
        values = dict(sorted(self.system.values(self.seed).items()))
        return {"format": FORMAT, "corpus": self.fingerprint, "model": self.system.model, "values": values}

    @property
    def key(self) -> dict[str, Any]:
        return {**self.training, "part": self.part}

    @property
    def _place(self) -> str:
        plain = re.sub(r"[^A-Za-z0-9_.=-]+", "-", str(self.system))
        digest = hashlib.sha256(json.dumps(self.training).encode()).hexdigest()[:12]
        return f"{plain}-fold-{self.fold}-seed-{self.seed}-{digest}"

    @property
    def file(self) -> Path:
        return self.folder / "cells" / f"{self._place}-{self.part}.json"

    @property
    def run(self) -> Path:
        """The trained model, while it is kept; every part is judged with it."""
        return self.folder / "runs" / self._place

    @property
    def corpus(self) -> Path:
        return fold_folder(self.folder, self.fold)

    def __str__(self) -> str:
        return f"fold {self.fold}, {self.system}, seed {self.seed}, {self.part}"


def cells_of(
    folder: Path, folds: Iterable[int], systems: Sequence[System], seeds: Sequence[int], part: str
) -> list[Cell]:
    """Every cell of the folds; what is not random is trained with the first seed only."""
    prints = {fold: fingerprint(read_corpus(fold_folder(folder, fold))) for fold in folds}
    return [
        Cell(folder, fold, prints[fold], system, seed, part)
        for system in systems
        for fold in prints
        for seed in (seeds if system.is_random else seeds[:1])
    ]


def read_cell(cell: Cell) -> Content | None:
    """What a finished cell holds; None: it is missing or damaged."""
    try:
        found = json.loads(cell.file.read_text(encoding="utf-8")) if cell.file.is_file() else None
    except ValueError:
        return None
    whole = isinstance(found, dict) and found.keys() >= HOLDS and found["key"] == cell.key
    return found if whole else None


def missing(cells: Iterable[Cell], say: Callable[[str], None]) -> list[Cell]:
    """The cells to be done; a damaged one is told."""
    undone = [cell for cell in cells if read_cell(cell) is None]
    for cell in undone:
        if cell.file.exists():
            say(f"{cell.file} is damaged; the cell is done again")
    return undone


def write_cell(cell: Cell, content: Mapping[str, Any]) -> None:
    cell.file.parent.mkdir(parents=True, exist_ok=True)
    names = {"fold": cell.fold, "system": str(cell.system), "seed": cell.seed, "part": cell.part}
    write_text(cell.file, json.dumps({**names, "key": cell.key, **content}, allow_nan=False) + "\n")
