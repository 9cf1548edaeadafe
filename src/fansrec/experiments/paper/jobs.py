"""The jobs of a reproduction: training runs in parallel, then timings one at a time."""

import time

from fansrec.experiments.cells import Cell, unfinished
from fansrec.experiments.paper.catalogue import Selection, systems
from fansrec.experiments.paper.cells import Corpora, required_cells
from fansrec.experiments.paper.timings import required_timings, run_timing
from fansrec.experiments.pool import Job, Progress, run_jobs
from fansrec.experiments.run_cell import run_cell


def run_all(
    selection: Selection,
    corpora: Corpora,
    progress: Progress,
    workers: int,
    device: str,
    keep_weights: str = "latency",
    time_limit: float | None = None,
    only: str | None = None,
) -> int:
    """Run all unfinished jobs and return the number that failed or were stopped.

    `keep_weights` keeps the trained models that timings need (latency), all or none; `only` is training or timing.
    """
    end = None if time_limit is None else time.monotonic() + time_limit
    failed: list[Job] = []
    if only != "timing":
        cells = unfinished(required_cells(selection, corpora))
        jobs = [_training_job(cell, selection, keep_weights) for cell in cells]
        failed += run_jobs("training", jobs, workers, progress, time_limit)
    if only != "training":
        left = None if end is None else end - time.monotonic()
        failed += run_jobs("timing", timing_jobs(selection, corpora, device), 1, progress, left)
    return len(failed)


def _training_job(cell: Cell, selection: Selection, keep_weights: str) -> Job:
    system = systems()[cell.labels["system"]]
    is_timed = cell.labels["seed"] == selection.seeds[0] and not system.deterministic
    keep = keep_weights == "all" or (keep_weights == "latency" and is_timed)
    size = sum(file.stat().st_size for file in cell.corpus.glob("lists*.npy"))
    return Job(str(cell), run_cell, (cell, keep), system.cost * size)


def timing_jobs(selection: Selection, corpora: Corpora, device: str) -> list[Job]:
    """Return the timings to make on `device`, also those made with random weights where trained ones exist now."""
    return [
        Job(f"{timing.name} on {device}", run_timing, (timing, device))
        for timing in required_timings(selection, corpora)
        if not timing.is_finished(device)
    ]
