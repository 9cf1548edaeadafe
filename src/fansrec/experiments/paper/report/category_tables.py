"""Table 4 and the industrial system: latency and quality by the number of categories."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fansrec.experiments.paper.catalogue import Dataset, Experiment, datasets, published
from fansrec.experiments.paper.report.blocks import Block, Heading, Paragraph, Table
from fansrec.experiments.paper.report.entries import (
    NOTHING,
    REAL_TIME_MS,
    Entry,
    latency_entry,
    mark_best,
    quality_entries,
    quality_entry,
)
from fansrec.experiments.paper.results import METRICS, Latencies, Results, Subject, ratio

AUTOREGRESSIVE = {"bert4rec": "BERT4Rec", "sasrec": "SASRec", "gru4rec": "GRU4Rec"}


def categories(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Yield table 4: trained models on the data sets, then random weights at the paper's four sizes."""
    yield Paragraph(
        "On the data sets, N = 1 is the two-stage classifier with one category. In brackets: speedup over BERT4Rec."
    )
    for dataset in results.selection.datasets:
        yield Heading(dataset.title, 3)
        yield _trained(experiment, dataset, results)
    yield from generated(experiment, results)


def _trained(experiment: Experiment, dataset: Dataset, results: Results) -> Table:
    name = experiment.systems[0]
    paper = _published(dataset.title)
    rows = [_latency_row(experiment, timed, name, paper) for timed in results.latencies(experiment, dataset)]
    subjects = [Subject(dataset.name, name, number) for number in experiment.categories]
    for metric in METRICS:
        lists, entries = quality_entries(results, subjects, metric)
        reference = quality_entry(results.figure(Subject(dataset.name, experiment.against or ""), metric))
        rows.append([Entry(metric, (lists,)), reference, *entries])
    return Table(["", experiment.against or "", *(f"N = {number}" for number in experiment.categories)], rows)


def _latency_row(
    experiment: Experiment, timed: Latencies, name: str, paper: Mapping[Any, tuple[float, float]]
) -> list[Entry]:
    base = timed.of(experiment.against or "")
    found = [timed.of(name, number) for number in experiment.categories]
    entries = [latency_entry(base)]
    for row in found:
        suffix = "" if row is None or base is None else f" ({ratio(base, row)[0]:.1f}x)"
        entries.append(replace(latency_entry(row), suffix=suffix))
    keys = ["bert4rec", *experiment.categories]
    entries = [_with_published(entry, paper.get(key)) for entry, key in zip(entries, keys, strict=True)]
    marked = mark_best(entries, [None, *(None if row is None else row.mean for row in found)], highest=False)
    return [Entry("Latency (ms)", (timed.machine,)), *marked]


def _with_published(entry: Entry, value: tuple[float, float] | None) -> Entry:
    if value is None:
        return entry
    return replace(entry, notes=(*entry.notes, f"paper {value[0]:g} ({value[1]:g}x)"))


def _published(name: str) -> dict[Any, tuple[float, float]]:
    """Return the published latency and speedup by N, and that of BERT4Rec under its name."""
    table = published("industry") if name == "industry" else published("table4").get(name, {})
    if not table:
        return {}
    numbers = table.get("categories") or published("table4")["categories"]
    pairs = zip(table["latency"], table["speedup"], strict=True)
    return {"bert4rec": (table["bert4rec"], 1.0)} | dict(zip(numbers, pairs, strict=True))


def generated(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Yield latencies for generated lists and random weights, in the sizes of data sets that need not be available."""
    by_machine: dict[str, list[list[Entry]]] = {}
    for found in results.generated(experiment):
        row = _generated_row(experiment, found["key"], found["rows"])
        by_machine.setdefault(found["machine"], []).append(row)
    head = ["ms per list", *AUTOREGRESSIVE.values(), *(f"N = {number}" for number in experiment.categories)]
    for machine, rows in by_machine.items():
        yield Heading(f"Generated lists and random weights at the paper's sizes, {machine}", 3)
        if 1 in experiment.categories:
            yield Paragraph("Here N = 1 is the vanilla classifier: FANS with one softmax over all items.")
        yield Table(head, rows)


def _generated_row(experiment: Experiment, key: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """Return a row with the fastest N marked; SASRec and GRU4Rec reuse their state from item to item."""
    title = datasets()[key["workload"]].title if key["workload"] in datasets() else key["workload"]
    paper = _published(title)
    by_column = {row["categories"] if row["model"] == "fans" else row["model"]: row for row in rows}
    entries = [
        _with_published(_generated_entry(by_column.get(column)), paper.get(column))
        for column in (*AUTOREGRESSIVE, *experiment.categories)
    ]
    means = [by_column[n]["mean_ms"] if n in by_column else None for n in experiment.categories]
    marked = mark_best(entries, [*[None] * len(AUTOREGRESSIVE), *means], highest=False)
    return [Entry(title, (f"M = {key['items']:,}",)), *marked]


def _generated_entry(row: Mapping[str, Any] | None) -> Entry:
    if row is None:
        return Entry(NOTHING)
    text, notes = f"{row['mean_ms']:.2f}", (f"{row['lists']} lists",)
    return Entry(text, notes, slow=row["mean_ms"] > REAL_TIME_MS, suffix=f" ({row['speedup']:.1f}x)")
