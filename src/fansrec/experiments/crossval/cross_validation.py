"""A cross-validation: which cells it consists of, and running those that are not finished."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fansrec.data.corpus import fingerprint, read_corpus
from fansrec.evaluation.protocol import protocol
from fansrec.experiments.cells import Cell, Evaluation, unfinished
from fansrec.experiments.crossval.split import Split, fold_folder
from fansrec.experiments.crossval.systems import System
from fansrec.experiments.pool import Job, Progress, run_jobs
from fansrec.experiments.run_cell import run_cell

GRADIENT_COST = 10.0  # models that are trained by gradient descent take longer, so they start first
# Ten items for every list, as in use, or as many as the list really continues with, as in the paper.
EVALUATIONS = {
    "k fixed": Evaluation(protocol("standard")),
    "k known": Evaluation(protocol("paper", input="excluded")),
}


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
            self._cell(system, fold, seed, prints[fold])
            for system in self.systems
            for fold in self.folds
            for seed in (self.seeds if system.is_random else self.seeds[:1])
        ]

    def _cell(self, system: System, fold: int, seed: int, fold_fingerprint: str) -> Cell:
        file_name = re.sub(r"[^A-Za-z0-9_.=-]+", "-", str(system))
        return Cell(
            self.folder,
            f"{file_name}-fold-{fold}-seed-{seed}",
            f"fold {fold}, {system}, seed {seed}, {self.part}",
            fold_folder(self.folder, fold),
            fold_fingerprint,
            system.model,
            system.training_settings(seed),
            EVALUATIONS,
            {"fold": fold, "system": str(system), "seed": seed, "random": system.is_random},
            self.part,
        )

    def run_cells(
        self, progress: Progress, workers: int, keep_weights: bool = False, time_limit: float | None = None
    ) -> list[Job]:
        """Run the cells that are not finished and return the jobs that failed or were stopped."""
        jobs = [
            Job(str(cell), run_cell, (cell, keep_weights), GRADIENT_COST if cell.labels["random"] else 1.0)
            for cell in unfinished(self.cells(), progress.say)
        ]
        return run_jobs("cells", jobs, workers, progress, time_limit)
