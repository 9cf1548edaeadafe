"""All that is left of a choice: trainings side by side, then timings one at a time."""

import time

from fansrec.experiments.paper.catalogue import Choice
from fansrec.experiments.paper.cells import Corpora
from fansrec.experiments.paper.jobs import timing_jobs, training_jobs
from fansrec.experiments.pool import DONE, Job, run_jobs
from fansrec.experiments.progress import Watcher


def do_all(
    choice: Choice,
    corpora: Corpora,
    watcher: Watcher,
    workers: int,
    device: str,
    keep: str = "latency",
    time_limit: float | None = None,
    only: str | None = None,
) -> int:
    """How many jobs did not end well; `keep` says whose weights stay: those that latency needs, all or none."""
    end = None if time_limit is None else time.monotonic() + time_limit
    undone = 0
    if only != "timing":
        undone += _run("training", training_jobs(choice, corpora, keep), workers, watcher, end)
    if only != "training":
        undone += _run("timing", timing_jobs(choice, corpora, device), 1, watcher, end)
    return undone


def _run(what: str, jobs: list[Job], workers: int, watcher: Watcher, end: float | None) -> int:
    watcher.begin(what, len(jobs))
    outcomes = run_jobs(jobs, workers, watcher.ended, None if end is None else end - time.monotonic())
    return len(jobs) - sum(outcome.state == DONE for outcome in outcomes)
