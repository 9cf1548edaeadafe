"""What is left to do of a choice, as jobs: trainings side by side, then timings one at a time."""

from collections.abc import Callable, Iterable, Iterator

from fansrec.experiments.paper.catalogue import Choice, Dataset, Experiment, systems
from fansrec.experiments.paper.cells import Cell, Corpora, cells_of, missing
from fansrec.experiments.paper.timings import Entry, Timing, is_made, time_generated, time_shares, time_systems
from fansrec.experiments.paper.train_cell import train_cell
from fansrec.experiments.pool import Job
from fansrec.experiments.speed.workloads import workload

Measure = Callable[[Timing, str], None]


def training_jobs(choice: Choice, corpora: Corpora, keep: str = "latency") -> list[Job]:
    """The cells that are not finished."""
    return [_job(cell, choice, keep) for cell in missing(cells_of(choice, corpora))]


def _job(cell: Cell, choice: Choice, keep: str) -> Job:
    system = systems()[cell.system]
    kept = keep == "all" or (keep == "latency" and cell.seed == choice.seeds[0] and not system.deterministic)
    size = sum(file.stat().st_size for file in cell.corpus.glob("lists*.npy"))
    return Job(str(cell), train_cell, (cell, kept), system.cost * size)


def skipped(choice: Choice, corpora: Corpora) -> list[str]:
    """Corpora the choice would need and that are not there."""
    wanted: Iterable[tuple[str, int]] = (
        (dataset.name, categories)
        for experiment in choice.experiments
        for dataset in choice.datasets
        for _, categories in experiment.pairs()
    )
    return [f"{name}-{n}" for name, n in dict.fromkeys(wanted) if corpora.fingerprint(name, n) is None]


def timing_jobs(choice: Choice, corpora: Corpora, device: str) -> list[Job]:
    """The timings that were not made on this kind of device, or with random weights where trained ones are kept now."""
    return [
        Job(f"{timing.name} on {device}", function, (timing, device))
        for timing, function in timings_of(choice, corpora)
        if not is_made(timing, device)
    ]


def timings_of(choice: Choice, corpora: Corpora) -> Iterator[tuple[Timing, Measure]]:
    """Every timing the chosen experiments need, and what makes it."""
    for experiment in choice.experiments:
        yield from _timings(experiment, choice, corpora)


def _timings(experiment: Experiment, choice: Choice, corpora: Corpora) -> Iterator[tuple[Timing, Measure]]:
    for dataset in choice.datasets:
        timing = trained_timing(experiment, dataset, choice, corpora)
        if timing is not None:
            yield timing, time_systems
    for timing in generated_timings(experiment, corpora):
        yield timing, time_generated
    shares = shares_timing(experiment, corpora)
    if shares is not None:
        yield shares, time_shares


def trained_timing(experiment: Experiment, dataset: Dataset, choice: Choice, corpora: Corpora) -> Timing | None:
    """An experiment's systems on the test lists of a set."""
    if experiment.latency is None:
        return None
    entries = []
    for name, categories in experiment.pairs():
        cell = corpora.cell(dataset.name, categories, systems()[name], choice.seeds[0], choice)
        if cell is not None:
            entries.append(Entry(name, cell))
    if not entries:
        return None
    timed = [[entry.system, entry.cell.categories, entry.cell.key] for entry in entries]
    return Timing(corpora.folder, f"{experiment.name}-{dataset.name}", {**experiment.latency, "timed": timed}, entries)


def generated_timings(experiment: Experiment, corpora: Corpora) -> list[Timing]:
    """An experiment's categories at the sizes of the paper's sets."""
    limits = experiment.more.get("generated")
    if limits is None:
        return []
    timings = []
    for size in limits["sizes"]:
        items = min(workload(size).items, limits.get("most_items", workload(size).items))
        key = {"workload": size, "items": items, "categories": list(experiment.categories)}
        key |= {"lists": limits["lists"], "seconds": limits["seconds"]}
        timings.append(Timing(corpora.folder, f"{experiment.name}-generated-{size}", key))
    return timings


def shares_timing(experiment: Experiment, corpora: Corpora) -> Timing | None:
    shares = experiment.more.get("shares")
    return None if shares is None else Timing(corpora.folder, f"{experiment.name}-shares", shares)
