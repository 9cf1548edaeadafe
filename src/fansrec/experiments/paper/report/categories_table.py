"""Table 4 and the industrial system: how the number of categories changes time and quality."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fansrec.experiments.paper.catalogue import Dataset, Experiment, published
from fansrec.experiments.paper.jobs import generated_timings
from fansrec.experiments.paper.report.blocks import NOTHING, Block, Entry, Heading, Paragraph, Table, ranked
from fansrec.experiments.paper.report.wording import REAL_TIME, latency, lists_behind, qualities, quality, told_machine
from fansrec.experiments.paper.results import METRICS, PAPER, Latencies, Results, Subject, ratio
from fansrec.experiments.paper.timings import read_timings

ONE_BY_ONE = {"bert4rec": "BERT4Rec", "sasrec": "SASRec", "gru4rec": "GRU4Rec"}
TITLES = {"zhihu": "Zhihu", "spotify": "Spotify", "aotm": "AotM", "goodreads": "Goodreads", "industry": "industry"}


def categories(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Table 4: the sets at hand with trained models, then the paper's four sizes with weights drawn at random."""
    yield Paragraph(
        "On the sets N = 1 is the two-stage classifier with a single category. In brackets: speed-up over BERT4Rec."
    )
    for dataset in results.choice.datasets:
        yield Heading(dataset.title, 3)
        yield _trained(experiment, dataset, results)
    yield from generated(experiment, results)


def _trained(experiment: Experiment, dataset: Dataset, results: Results) -> Table:
    name = experiment.systems[0]
    paper = _published(dataset.published)
    rows = [_latency_row(experiment, timed, name, paper) for timed in results.latencies(experiment, dataset)]
    subjects = [Subject(dataset.name, name, number) for number in experiment.categories]
    for metric in METRICS:
        figures = [results.figure(subject, metric) for subject in subjects]
        entries = qualities(figures)
        beside = quality(results.figure(Subject(dataset.name, experiment.against or ""), metric))
        rows.append([Entry(metric, (lists_behind(results, subjects, metric, PAPER),)), beside, *entries])
    return Table(["", experiment.against or "", *(f"N = {number}" for number in experiment.categories)], rows)


def _latency_row(
    experiment: Experiment, timed: Latencies, name: str, paper: Mapping[Any, tuple[float, float]]
) -> list[Entry]:
    base = timed.of(experiment.against or "")
    found = [timed.of(name, number) for number in experiment.categories]
    entries = [latency(base)] + [
        latency(row) if row is None or base is None else _with_speedup(latency(row), ratio(base, row).value)
        for row in found
    ]
    keys = ["bert4rec", *experiment.categories]
    entries = [_beside(entry, paper.get(key)) for entry, key in zip(entries, keys, strict=True)]
    marked = ranked(entries, [None, *(None if row is None else row.mean for row in found)], highest=False)
    return [Entry("Latency (ms)", (told_machine(timed.machine),)), *marked]


def _with_speedup(entry: Entry, value: float) -> Entry:
    return Entry(entry.text, entry.notes, entry.mark, entry.slow, f" ({value:.1f}x)")


def _beside(entry: Entry, value: tuple[float, float] | None) -> Entry:
    if value is None:
        return entry
    return Entry(entry.text, (*entry.notes, f"paper {value[0]:g} ({value[1]:g}x)"), entry.mark, entry.slow, entry.tail)


def _published(name: str | None) -> dict[Any, tuple[float, float]]:
    """Latency and speed-up by N; BERT4Rec's under its own name."""
    table = published("industry") if name == "industry" else published("table4").get(name or "", {})
    if not table:
        return {}
    numbers = table.get("categories") or published("table4")["categories"]
    pairs = zip(table["latency"], table["speedup"], strict=True)
    return {"bert4rec": (table["bert4rec"], 1.0)} | dict(zip(numbers, pairs, strict=True))


def generated(experiment: Experiment, results: Results) -> Iterator[Block]:
    """At sizes of sets that need not be at hand: lists and weights are drawn at random, only times mean something."""
    by_device: dict[str, list[list[Entry]]] = {}
    for timing in generated_timings(experiment, results.corpora):
        for found in read_timings(timing):
            row = _generated_row(experiment, timing.key, found["rows"])
            by_device.setdefault(told_machine(found["machine"]), []).append(row)
    head = ["ms a list", *ONE_BY_ONE.values(), *(f"N = {number}" for number in experiment.categories)]
    for device, rows in by_device.items():
        yield Heading(f"Generated lists and weights at the paper's sizes, {device}", 3)
        if 1 in experiment.categories:
            yield Paragraph("Here N = 1 is the vanilla classifier: FANS with one softmax over all items.")
        yield Table(head, rows)


def _generated_row(experiment: Experiment, key: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """The lowest time of one pass is marked; SASRec and GRU4Rec reuse their state from item to item."""
    title = TITLES[key["workload"]]
    paper = _published(title)
    one_by_one = {row["model"]: row for row in rows if row["model"] in ONE_BY_ONE}
    one_pass = {row["categories"]: row for row in rows if row["model"] == "fans"}
    slow = [_beside(_generated_entry(one_by_one.get(name)), paper.get(name)) for name in ONE_BY_ONE]
    fast = [_beside(_generated_entry(one_pass.get(n)), paper.get(n)) for n in experiment.categories]
    means = [one_pass[n]["mean_ms"] if n in one_pass else None for n in experiment.categories]
    return [Entry(title, (f"M = {key['items']:,}",)), *slow, *ranked(fast, means, highest=False)]


def _generated_entry(row: Mapping[str, Any] | None) -> Entry:
    if row is None:
        return Entry(NOTHING)
    text, notes = f"{row['mean_ms']:.2f}", (f"{row['lists']} lists",)
    return Entry(text, notes, slow=row["mean_ms"] > REAL_TIME, tail=f" ({row['speedup']:.1f}x)")
