"""The paper's tables, ours and its figures in every cell."""

import json
from collections.abc import Iterator, Sequence

from fansrec.experiments.paper.catalogue import USUAL_CATEGORIES, Dataset, Experiment, published, systems
from fansrec.experiments.paper.report.blocks import Block, Entry, Heading, Paragraph, Table, ranked, text
from fansrec.experiments.paper.report.wording import latency, lists_behind, p_against, qualities, speedup, told_machine
from fansrec.experiments.paper.results import METRICS, PAPER, Latencies, Latency, Results, Subject, ratio

CIRCLES = {"autoregressive": "○", "one-pass": "◐", "two-stage": "●"}
OTHER_PROTOCOLS = {
    "paper, input excluded": "the paper's protocol without items of the input",
    "standard": "the standard protocol (10 items, input excluded, every list counts)",
}


def titled(system: str) -> str:
    known = systems()[system]
    return f"{CIRCLES.get(known.family, '')} {known.title}".strip().replace(" / ", "\n/ ")


def statistics(results: Results) -> Iterator[Block]:
    """Table 1."""
    rows = {
        "lists": "{:,}", "items": "{:,}", "categories": "{:,}", "interactions": "{:,}",
        "average": "{:.2f}", "shortest": "{}", "longest": "{}", "density": "{:.3f}%",
    }  # fmt: skip
    names = {"average": "items per list, mean", "shortest": "shortest list", "longest": "longest list"}
    known = [(dataset, _counted(results, dataset)) for dataset in results.choice.datasets]
    ours = [(dataset, counted) for dataset, counted in known if counted is not None]
    body = []
    for key, form in rows.items():
        paper = [published("table1").get(dataset.published or "", {}).get(key) for dataset, _ in ours]
        entries = [
            Entry(form.format(counted[key]), () if value is None else (f"paper {form.format(value)}",))
            for (_, counted), value in zip(ours, paper, strict=True)
        ]
        body.append([Entry(names.get(key, key)), *entries])
    yield Table(["", *(dataset.title for dataset, _ in ours)], body)
    yield Paragraph("The paper's range is that of its filter; ours are the shortest and longest lists really there.")


def _counted(results: Results, dataset: Dataset) -> dict[str, float] | None:
    folder = results.corpora.folder
    if not folder.has_corpus(dataset.name, USUAL_CATEGORIES):
        return None
    summary = json.loads((folder.corpus(dataset.name, USUAL_CATEGORIES) / "summary.json").read_text(encoding="utf-8"))
    average = summary["interactions"] / summary["lists"]
    return {**summary, "average": average, "density": 100 * average / summary["items"]}


def comparison(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Table 2, and beside it the rivals the paper left out."""
    names = experiment.more["systems"]
    yield Paragraph(
        "○ one by one, ◐ in one pass, ● in one pass with the two-stage classifier. Best in bold, second best "
        f"underlined; ▲ over 50 ms. p: against {experiment.against}, paired over lists."
    )
    for dataset in results.choice.datasets:
        timed = results.latencies(experiment, dataset)
        yield Heading(f"{dataset.title}: the paper's nine systems", 3)
        yield _by_system(experiment, dataset, names, results, timed)
        yield Heading(f"{dataset.title}: rivals the paper left out", 3)
        yield _by_system(experiment, dataset, experiment.more["rivals"], results, timed)
        for protocol, told in OTHER_PROTOCOLS.items():
            yield Heading(f"{dataset.title}: all of them, {told}", 3)
            yield figure_table(dataset, [*names, *experiment.more["rivals"]], results, protocol=protocol)


def _by_system(
    experiment: Experiment, dataset: Dataset, names: Sequence[str], results: Results, timed: Sequence[Latencies]
) -> Table:
    assert experiment.against is not None
    paper = _published(dataset)
    subjects = [Subject(dataset.name, name) for name in names]
    against = p_against(results, subjects, Subject(dataset.name, experiment.against), METRICS)
    rows = []
    for metric in METRICS:
        figures = [results.figure(subject, metric) for subject in subjects]
        theirs = [paper.get((subject.system, metric)) for subject in subjects]
        marked = qualities(figures, theirs, [against.get((subject, metric)) for subject in subjects])
        rows.append([Entry(metric, (lists_behind(results, subjects, metric, PAPER),)), *marked])
    for latencies in timed:
        rows += _latency_rows(latencies, names, experiment.against, paper)
    return Table(["", *map(titled, names)], rows)


def _latency_rows(
    timed: Latencies, names: Sequence[str], against: str, paper: dict[tuple[str, str], float]
) -> list[list[Entry]]:
    found = [timed.of(name) for name in names]
    base = timed.of(against)
    means = [None if row is None else row.mean for row in found]
    times = [latency(row, paper.get((name, "latency"))) for row, name in zip(found, names, strict=True)]
    ratios = [None if row is None or base is None else ratio(base, row) for row in found]
    gains = [speedup(one, paper.get((name, "speedup"))) for one, name in zip(ratios, names, strict=True)]
    where = (told_machine(timed.machine),)
    return [
        [Entry("Latency (ms)", where), *ranked(times, means, highest=False)],
        [Entry("Speedup", where), *ranked(gains, [None if one is None else one.value for one in ratios])],
    ]


def _published(dataset: Dataset) -> dict[tuple[str, str], float]:
    """Table 2's figures of a set, by system and row."""
    table = published("table2")
    rows = table.get(dataset.published or "", {})
    return {
        (name, row): value for row, values in rows.items() for name, value in zip(table["systems"], values, strict=True)
    }


def schedulers(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Table 3. The paper has it on Zhihu only; its figures stand beside ours on every set."""
    paper = published("table3")
    yield Paragraph(f"The paper's figures are those of {paper['dataset']}, whatever the set: it gives no others.")
    for dataset in results.choice.datasets:
        yield Heading(dataset.title, 3)
        rows = []
        for classifier, names in experiment.more["rows"].items():
            for metric in METRICS:
                figures = [results.figure(Subject(dataset.name, name), metric) for name in names]
                ours_alone = [None] * (len(figures) - len(paper["columns"]))
                marked = qualities(figures, [*paper[classifier][metric], *ours_alone])
                behind = lists_behind(results, [Subject(dataset.name, name) for name in names], metric, PAPER)
                rows.append([Entry(f"{classifier}, {metric}", (behind,)), *marked])
        yield Table(["", *experiment.more["columns"]], rows)


def figure_table(
    dataset: Dataset,
    names: Sequence[str],
    results: Results,
    timed: Sequence[Latencies] = (),
    protocol: str = PAPER,
) -> Table:
    """A system a row, a metric a column."""
    subjects = [Subject(dataset.name, name) for name in names]
    columns = []
    for metric in METRICS:
        columns.append(qualities([results.figure(subject, metric, protocol) for subject in subjects]))
    head = [f"{metric}\n{lists_behind(results, subjects, metric, protocol)}" for metric in METRICS]
    for latencies in timed:
        found: list[Latency | None] = [latencies.of(name) for name in names]
        columns.append([latency(row) for row in found])
        head.append(f"ms\n{told_machine(latencies.machine)}")
    rows = [[*text(titled(name)), *(column[place] for column in columns)] for place, name in enumerate(names)]
    return Table(["", *head], rows)
