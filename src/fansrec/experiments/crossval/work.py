"""The cells that are left of a choice, side by side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fansrec.experiments.crossval.cells import Cell, cells_of, missing
from fansrec.experiments.crossval.split import Split
from fansrec.experiments.crossval.systems import System
from fansrec.experiments.crossval.train_cell import train_cell
from fansrec.experiments.pool import DONE, Job, run_jobs
from fansrec.experiments.progress import Watcher

LONGER = 10.0  # what is trained by gradient goes first


@dataclass(frozen=True)
class Choice:
    """What is asked for."""

    folder: Path
    split: Split
    folds: Sequence[int]
    systems: Sequence[System]
    seeds: Sequence[int]  # of training
    part: str

    def cells(self) -> list[Cell]:
        return cells_of(self.folder, self.folds, self.systems, self.seeds, self.part)


def do_cells(
    choice: Choice,
    watcher: Watcher,
    say: Callable[[str], None],
    workers: int,
    keep: bool = False,
    time_limit: float | None = None,
) -> list[Cell]:
    """Does what is not finished; gives the cells that did not end well."""
    left = missing(choice.cells(), say)
    jobs = [Job(str(cell), train_cell, (cell, keep), LONGER if cell.system.is_random else 1.0) for cell in left]
    watcher.begin("cells", len(jobs))
    outcomes = run_jobs(jobs, workers, watcher.ended, time_limit)
    done = {outcome.job.title for outcome in outcomes if outcome.state == DONE}
    return [cell for cell in left if str(cell) not in done]
