"""The jobs of a reproduction: training runs in parallel, then timings one at a time."""

import time
from collections.abc import Callable, Iterator

from fansrec.experiments.cells import Cell, unfinished
from fansrec.experiments.paper.catalogue import Dataset, Experiment, Selection, systems
from fansrec.experiments.paper.cells import Corpora, required_cells
from fansrec.experiments.paper.timings import Entry, Timing, is_finished, time_generated, time_shares, time_systems
from fansrec.experiments.pool import Job, Progress, run_jobs
from fansrec.experiments.run_cell import run_cell
from fansrec.experiments.speed.workloads import workload

Measure = Callable[[Timing, str], None]


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
        failed += run_jobs("training", training_jobs(selection, corpora, keep_weights), workers, progress, time_limit)
    if only != "training":
        left = None if end is None else end - time.monotonic()
        failed += run_jobs("timing", timing_jobs(selection, corpora, device), 1, progress, left)
    return len(failed)


def training_jobs(selection: Selection, corpora: Corpora, keep_weights: str = "latency") -> list[Job]:
    """Return a job for every cell that is not finished."""
    return [_job(cell, selection, keep_weights) for cell in unfinished(required_cells(selection, corpora))]


def _job(cell: Cell, selection: Selection, keep_weights: str) -> Job:
    system = systems()[cell.labels["system"]]
    is_timed = cell.labels["seed"] == selection.seeds[0] and not system.deterministic
    keep = keep_weights == "all" or (keep_weights == "latency" and is_timed)
    size = sum(file.stat().st_size for file in cell.corpus.glob("lists*.npy"))
    return Job(str(cell), run_cell, (cell, keep), system.cost * size)


def missing_corpora(selection: Selection, corpora: Corpora) -> list[str]:
    """Return the names of the corpora that the selection needs and that do not exist."""
    needed = dict.fromkeys(
        (dataset.name, categories)
        for experiment in selection.experiments
        for dataset in selection.datasets
        for _, categories in experiment.pairs()
    )
    return [f"{name}-{n}" for name, n in needed if corpora.fingerprint(name, n) is None]


def timing_jobs(selection: Selection, corpora: Corpora, device: str) -> list[Job]:
    """Return the timings to make on `device`, also those made with random weights where trained ones exist now."""
    return [
        Job(f"{timing.name} on {device}", function, (timing, device))
        for timing, function in required_timings(selection, corpora)
        if not is_finished(timing, device)
    ]


def required_timings(selection: Selection, corpora: Corpora) -> Iterator[tuple[Timing, Measure]]:
    """Yield every timing that the selected experiments need, with the function that makes it."""
    for experiment in selection.experiments:
        for dataset in selection.datasets:
            timing = trained_timing(experiment, dataset, selection, corpora)
            if timing is not None:
                yield timing, time_systems
        for timing in generated_timings(experiment, corpora):
            yield timing, time_generated
        shares = shares_timing(experiment, corpora)
        if shares is not None:
            yield shares, time_shares


def trained_timing(experiment: Experiment, dataset: Dataset, selection: Selection, corpora: Corpora) -> Timing | None:
    """Return the timing of an experiment's systems on the test lists of a data set, or None if it has none."""
    if experiment.latency is None:
        return None
    entries = []
    for name, categories in experiment.pairs():
        cell = corpora.cell(dataset.name, categories, systems()[name], selection.seeds[0], selection)
        if cell is not None:
            entries.append(Entry(name, cell))
    if not entries:
        return None
    timed = [[entry.system, entry.categories, entry.cell.key] for entry in entries]
    return Timing(corpora.out, f"{experiment.name}-{dataset.name}", {**experiment.latency, "timed": timed}, entries)


def generated_timings(experiment: Experiment, corpora: Corpora) -> list[Timing]:
    """Return the timings of an experiment's numbers of categories at the sizes of the paper's data sets."""
    limits = experiment.extra.get("generated")
    if limits is None:
        return []
    timings = []
    for size in limits["sizes"]:
        items = min(workload(size).items, limits.get("most_items", workload(size).items))
        key = {"workload": size, "items": items, "categories": list(experiment.categories)}
        key |= {"lists": limits["lists"], "seconds": limits["seconds"]}
        timings.append(Timing(corpora.out, f"{experiment.name}-generated-{size}", key))
    return timings


def shares_timing(experiment: Experiment, corpora: Corpora) -> Timing | None:
    shares = experiment.extra.get("shares")
    return None if shares is None else Timing(corpora.out, f"{experiment.name}-shares", shares)
