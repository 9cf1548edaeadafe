"""Tables 1 to 3 of the paper, with our figure and the paper's in every cell."""

import json
from collections.abc import Iterator, Sequence

import numpy as np

from fansrec.evaluation.significance import paired_p_values
from fansrec.experiments.paper.catalogue import DEFAULT_CATEGORIES, Dataset, Experiment, published, systems
from fansrec.experiments.paper.report.blocks import Block, Heading, Paragraph, Table
from fansrec.experiments.paper.report.entries import NOTHING, Entry, latency_entry, mark_best, quality_entries
from fansrec.experiments.paper.results import METRICS, PAPER, Latencies, Results, Subject, ratio

CIRCLES = {"autoregressive": "○", "vanilla": "◐", "two-stage": "●"}
OTHER_PROTOCOLS = {
    "paper, input excluded": "the paper's protocol without input items",
    "standard": "the standard protocol (10 items, input items excluded, every list counts)",
}


def system_title(system: str) -> str:
    """Return the circle of the system's family and its title."""
    known = systems()[system]
    return f"{CIRCLES.get(known.family, '')} {known.title}".strip().replace(" / ", "\n/ ")


def statistics(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Yield table 1: statistics of the data sets."""
    rows = {
        "lists": "{:,}", "items": "{:,}", "categories": "{:,}", "interactions": "{:,}",
        "average": "{:.2f}", "shortest": "{}", "longest": "{}", "density": "{:.3f}%",
    }  # fmt: skip
    names = {"average": "items per list, mean", "shortest": "shortest list", "longest": "longest list"}
    ours = {dataset: _statistics(results, dataset) for dataset in results.selection.datasets}
    ours = {dataset: counts for dataset, counts in ours.items() if counts}
    body = []
    for key, form in rows.items():
        paper = {dataset: published("table1")[key].get(dataset.title) for dataset in ours}
        notes = [() if value is None else (f"paper {form.format(value)}",) for value in paper.values()]
        entries = [Entry(form.format(counts[key]), note) for counts, note in zip(ours.values(), notes, strict=True)]
        body.append([Entry(names.get(key, key)), *entries])
    yield Table(["", *(dataset.title for dataset in ours)], body)
    yield Paragraph("The paper gives the range of its length filter; ours are the shortest and longest lists.")


def _statistics(results: Results, dataset: Dataset) -> dict[str, float]:
    """Return the numbers of a corpus, or none if it is not prepared."""
    corpora = results.corpora
    if not corpora.exists(dataset.name, DEFAULT_CATEGORIES):
        return {}
    summary_file = corpora.folder(dataset.name, DEFAULT_CATEGORIES) / "summary.json"
    summary = json.loads(summary_file.read_text(encoding="utf-8"))
    average = summary["interactions"] / summary["lists"]
    return {**summary, "average": average, "density": 100 * average / summary["items"]}


def comparison(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Yield table 2, and models that the paper did not compare with."""
    names = experiment.extra["systems"]
    yield Paragraph(
        "○ autoregressive, ◐ one pass, ● one pass with the two-stage classifier. Best in bold, second best "
        f"underlined; ▲ above 50 ms. p: compared with {experiment.against}, paired by list."
    )
    for dataset in results.selection.datasets:
        timed = results.latencies(experiment, dataset)
        yield Heading(f"{dataset.title}: the paper's nine systems", 3)
        yield _by_system(experiment, dataset, names, results, timed)
        yield Heading(f"{dataset.title}: models the paper did not compare with", 3)
        yield _by_system(experiment, dataset, experiment.extra["rivals"], results, timed)
        for protocol, description in OTHER_PROTOCOLS.items():
            yield Heading(f"{dataset.title}: all systems, {description}", 3)
            yield figure_table(dataset, [*names, *experiment.extra["rivals"]], results, protocol=protocol)


def _by_system(
    experiment: Experiment, dataset: Dataset, names: Sequence[str], results: Results, timed: Sequence[Latencies]
) -> Table:
    assert experiment.against is not None
    paper = _published(dataset)
    subjects = [Subject(dataset.name, name) for name in names]
    against = p_against(results, subjects, Subject(dataset.name, experiment.against))
    rows = []
    for metric in METRICS:
        theirs = [paper.get((name, metric)) for name in names]
        p = [against.get((subject, metric)) for subject in subjects]
        lists, entries = quality_entries(results, subjects, metric, theirs, p)
        rows.append([Entry(metric, (lists,)), *entries])
    for latencies in timed:
        rows += _latency_rows(latencies, names, experiment.against, paper)
    return Table(["", *map(system_title, names)], rows)


def p_against(results: Results, subjects: Sequence[Subject], against: Subject) -> dict[tuple[Subject, str], float]:
    """Return the p-value of every subject's difference to `against`, by subject and metric, where both exist."""
    found = {
        (subject, metric): difference
        for subject in subjects
        for metric in METRICS
        if subject != against and (difference := results.differences(subject, against, metric)) is not None
    }
    return dict(zip(found, paired_p_values(np.stack(list(found.values()))).tolist(), strict=True)) if found else {}


def _latency_rows(
    timed: Latencies, names: Sequence[str], against: str, paper: dict[tuple[str, str], float]
) -> list[list[Entry]]:
    base, found = timed.of(against), {name: timed.of(name) for name in names}
    times = [latency_entry(row, paper.get((name, "latency"))) for name, row in found.items()]
    means = [None if row is None else row.mean for row in found.values()]
    ratios = [None if row is None or base is None else ratio(base, row)[0] for row in found.values()]
    notes = [(f"paper {paper[name, 'speedup']:.1f}x",) if (name, "speedup") in paper else () for name in names]
    texts = [NOTHING if value is None else f"{value:.1f}x" for value in ratios]
    return [
        [Entry("Latency (ms)", (timed.machine,)), *mark_best(times, means, highest=False)],
        [Entry("Speedup", (timed.machine,)), *mark_best(list(map(Entry, texts, notes)), ratios)],
    ]


def _published(dataset: Dataset) -> dict[tuple[str, str], float]:
    """Return the figures of table 2 for a data set, by system and row."""
    table = published("table2")
    rows = table.get(dataset.title, {})
    return {
        (name, row): value for row, values in rows.items() for name, value in zip(table["systems"], values, strict=True)
    }


def schedulers(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Yield table 3; the paper has it for Zhihu only, so those figures are shown for every data set."""
    paper = published("table3")
    yield Paragraph(f"The paper's figures are for {paper['dataset']} in all tables: it gives no others.")
    for dataset in results.selection.datasets:
        yield Heading(dataset.title, 3)
        rows = []
        for classifier, names in experiment.extra["rows"].items():
            subjects = [Subject(dataset.name, name) for name in names]
            not_in_paper = [None] * (len(names) - len(paper["columns"]))
            for metric in METRICS:
                theirs = [*paper[classifier][metric], *not_in_paper]
                lists, entries = quality_entries(results, subjects, metric, theirs)
                rows.append([Entry(f"{classifier}, {metric}", (lists,)), *entries])
        yield Table(["", *experiment.extra["columns"]], rows)


def figure_table(
    dataset: Dataset,
    names: Sequence[str],
    results: Results,
    timed: Sequence[Latencies] = (),
    protocol: str = PAPER,
) -> Table:
    """Return a table with one row per system and one column per metric."""
    columns = {"": [Entry(system_title(name)) for name in names]}
    for metric in METRICS:
        subjects = [Subject(dataset.name, name) for name in names]
        lists, entries = quality_entries(results, subjects, metric, protocol=protocol)
        columns[f"{metric}\n{lists}"] = entries
    for latencies in timed:
        columns[f"ms\n{latencies.machine}"] = [latency_entry(latencies.of(name)) for name in names]
    return Table(list(columns), list(zip(*columns.values(), strict=True)))
