"""A cross-validation: a folder with one corpus per fold, the cells it consists of, and running unfinished ones."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fansrec.data.corpus import fingerprint, read_corpus
from fansrec.errors import BadArtifact, BadSetting
from fansrec.evaluation.protocol import protocol
from fansrec.experiments.cells import Cell, Evaluation, unfinished
from fansrec.experiments.crossval.systems import System
from fansrec.experiments.pool import Job, Progress, run_jobs
from fansrec.experiments.run_cell import run_cell
from fansrec.files import write_json

FILE = "split.json"  # records how the lists were dealt
GRADIENT_COST = 10.0  # models that are trained by gradient descent take longer, so they start first
# Ten items for every list, as in use, or as many as the list really continues with, as in the paper; and ten items
# after a single one, with which people begin.
EVALUATIONS = {
    "k fixed": Evaluation(protocol("standard")),
    "k known": Evaluation(protocol("paper", input="excluded")),
    "one given item": Evaluation(protocol("standard", given=1), timed=False),
}


@dataclass(frozen=True)
class Split:
    """How the lists of a corpus are dealt into folds."""

    corpus: str  # the name of its folder
    fingerprint: str
    folds: int | None  # None: the corpus's own split
    seed: int | None

    @property
    def fold_numbers(self) -> range:
        return range(1 if self.folds is None else self.folds)

    def __str__(self) -> str:
        return "its own split" if self.folds is None else f"--folds {self.folds} --seed {self.seed}"

    def select(self, requested: Sequence[int]) -> list[int]:
        """Return the requested fold numbers in order, or all if none is requested."""
        for number in requested:
            if number not in self.fold_numbers:
                raise BadSetting(f"--fold-numbers {number}: the folds are numbered 0 to {len(self.fold_numbers) - 1}")
        return sorted(set(requested)) if requested else list(self.fold_numbers)


def fold_folder(folder: Path, number: int) -> Path:
    return folder / f"fold-{number}"


def has_fold(folder: Path, number: int) -> bool:
    return (fold_folder(folder, number) / "summary.json").is_file()


def start_split(folder: Path, split: Split) -> None:
    """Write `split.json`, or refuse a folder that was made for another corpus or other folds."""
    if not (folder / FILE).is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / FILE, asdict(split))
        return
    found = read_split(folder)
    if found.fingerprint != split.fingerprint:
        raise BadSetting(f"{folder} was made for another corpus ({found.corpus}); choose another --out, or remove it")
    if (found.folds, found.seed) != (split.folds, split.seed):
        raise BadSetting(f"{folder} was made with {found}, not with {split}; choose another --out")


def read_split(folder: Path) -> Split:
    if not (folder / FILE).is_file():
        raise BadArtifact(f"{folder} has no folds: {FILE} is missing. Make them with `fans crossval --only folds`")
    try:
        return Split(**json.loads((folder / FILE).read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise BadArtifact(f"{folder / FILE} is damaged ({error}); remove {folder} and start again") from error


@dataclass(frozen=True)
class CrossValidation:
    """Every system on every fold with every training seed, evaluated on one part of the folds."""

    folder: Path
    split: Split
    folds: Sequence[int]
    systems: Sequence[System]
    seeds: Sequence[int]  # of training
    part: str

    def cells(self) -> list[Cell]:
        """Return all cells; deterministic models have one, with the first seed."""
        prints = {fold: fingerprint(read_corpus(fold_folder(self.folder, fold))) for fold in self.folds}
        return [
            Cell(
                self.folder,
                f"{re.sub(r'[^A-Za-z0-9_.=-]+', '-', str(system))}-fold-{fold}-seed-{seed}",
                f"fold {fold}, {system}, seed {seed}, {self.part}",
                fold_folder(self.folder, fold),
                prints[fold],
                system.model,
                system.training_settings(seed),
                EVALUATIONS,
                {"fold": fold, "system": str(system), "seed": seed, "random": system.is_random},
                self.part,
            )
            for system in self.systems
            for fold in self.folds
            for seed in (self.seeds if system.is_random else self.seeds[:1])
        ]

    def run_cells(
        self, progress: Progress, workers: int, keep_weights: bool = False, time_limit: float | None = None
    ) -> list[Job]:
        """Run the cells that are not finished and return the jobs that failed or were stopped."""
        jobs = [
            Job(str(cell), run_cell, (cell, keep_weights), GRADIENT_COST if cell.labels["random"] else 1.0)
            for cell in unfinished(self.cells(), progress.say)
        ]
        return run_jobs("cells", jobs, workers, progress, time_limit)
