"""The paper's figures, each with a table of its numbers."""

from collections.abc import Iterator, Sequence

from fansrec.experiments.machine import format_machine
from fansrec.experiments.paper.catalogue import Dataset, Experiment, published
from fansrec.experiments.paper.jobs import generated_timings, shares_timing
from fansrec.experiments.paper.report.blocks import Block, Entry, Heading, Paragraph, Plot, Table
from fansrec.experiments.paper.report.plots import Bar, bar_plot, line_plot, share_plot
from fansrec.experiments.paper.report.tables import figure_table
from fansrec.experiments.paper.results import METRICS, Results, Subject
from fansrec.experiments.paper.timings import read_timings

NO_NUMBERS = "The paper shows a plot without numbers."


def with_categories(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Yield figure 4: every system beside its variant without categories."""
    names = [name for pair in experiment.extra["pairs"].items() for name in pair]
    yield Paragraph(f"Light and hatched: without categories. FANS* has the vanilla classifier. {NO_NUMBERS}")
    for dataset in results.selection.datasets:
        yield Heading(dataset.title, 3)
        panels = {metric: _bars(dataset, names, metric, results) for metric in METRICS}
        hatched = list(experiment.extra["pairs"].values())
        if any(panels.values()):
            yield Plot(f"{experiment.name}-{dataset.name}", bar_plot(panels, hatched, paired=True))
        yield figure_table(dataset, names, results)


def recall(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Yield figure 5: BERT4Rec, BERT4Rec as a recall model, and FANS."""
    yield Paragraph(f"BERT4Rec_R takes the best items of one prediction; BERT4Rec has the same weights. {NO_NUMBERS}")
    for dataset in results.selection.datasets:
        yield Heading(dataset.title, 3)
        panels = {metric: _bars(dataset, experiment.systems, metric, results) for metric in METRICS}
        if any(panels.values()):
            yield Plot(f"{experiment.name}-{dataset.name}", bar_plot(panels))
        yield figure_table(dataset, experiment.systems, results, results.latencies(experiment, dataset))


def _bars(dataset: Dataset, names: Sequence[str], metric: str, results: Results) -> list[Bar]:
    found = [(name, results.figure(Subject(dataset.name, name), metric)) for name in names]
    return [(name, figure.mean, figure.deviation) for name, figure in found if figure is not None]


def scheduler_lines(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Yield table 3 as line plots, without the columns that are not a number of steps."""
    columns = [name.split(" / ")[0].removeprefix("step=") for name in published("table3")["columns"]]
    for dataset in results.selection.datasets:
        panels = {
            metric: {
                classifier: {
                    column: figure.mean
                    for column, name in zip(columns, names, strict=False)
                    if (figure := results.figure(Subject(dataset.name, name), metric)) is not None
                }
                for classifier, names in experiment.extra["rows"].items()
            }
            for metric in METRICS
        }
        yield Heading(f"{dataset.title} as lines", 3)
        yield Plot(f"{experiment.name}-{dataset.name}", line_plot(panels, "curriculum steps"))


def category_lines(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Yield table 4 as a line plot: latency at the paper's sizes, by device."""
    panels: dict[str, dict[str, dict[float | str, float]]] = {}
    for timing in generated_timings(experiment, results.corpora):
        for found in read_timings(timing):
            line = {row["categories"]: row["mean_ms"] for row in found["rows"] if row["model"] == "fans"}
            panel = panels.setdefault(f"ms per list, {found['machine']['device']}", {})
            panel[f"{timing.key['workload']}, M = {timing.key['items']:,}"] = {n: line[n] for n in sorted(line)}
    if panels:
        yield Plot(f"{experiment.name}-latency", line_plot(panels, "categories N"))


def time_shares(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Yield figure 6: shares of encoder and classifier."""
    timing = shares_timing(experiment, results.corpora)
    assert timing is not None
    yield Paragraph(
        f"Generated lists and random weights, M = {timing.key['items']:,}, one list at a time; the classifier's share "
        f"includes sorting and the selection of distinct items. {NO_NUMBERS}"
    )
    for found in read_timings(timing):
        panels: dict[str, dict[int, tuple[float, float]]] = {}
        for row in found["rows"]:
            panel = panels.setdefault(f"{row['classifier']} classifier", {})
            panel[row["layers"]] = (row["encoder_ms"], row["classifier_ms"])
        yield Heading(format_machine(found["machine"]), 3)
        yield Plot(f"{experiment.name}-{found['machine']['device']}", share_plot(panels))
        yield _shares_table(panels)


def _shares_table(panels: dict[str, dict[int, tuple[float, float]]]) -> Table:
    layers = list(next(iter(panels.values())))
    rows = [
        [
            Entry(title),
            *(Entry(f"{100 * c / (e + c):.0f}%", (f"{e:.2f} + {c:.2f} ms",)) for e, c in panel.values()),
        ]
        for title, panel in panels.items()
    ]
    return Table(
        ["classifier's share, encoder + classifier", *(f"{number} layer{'s' * (number > 1)}" for number in layers)],
        rows,
    )
