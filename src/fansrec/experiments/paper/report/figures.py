"""The paper's figures, each with a table of its numbers."""

from collections.abc import Iterable, Iterator, Sequence

from fansrec.experiments.paper.catalogue import Dataset, Experiment, published
from fansrec.experiments.paper.report.blocks import Block, Heading, Paragraph, Plot, Table
from fansrec.experiments.paper.report.entries import Entry
from fansrec.experiments.paper.report.plots import Bar, Line, bar_plot, line_plot, share_plot
from fansrec.experiments.paper.report.tables import figure_table
from fansrec.experiments.paper.results import METRICS, Results, Subject, times_by_categories

NO_NUMBERS = "The paper shows a plot without numbers."


def with_categories(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Yield figure 4: every system beside its variant without categories."""
    yield Paragraph(f"Light and hatched: without categories. FANS* has the vanilla classifier. {NO_NUMBERS}")
    yield from _bar_plots(experiment, results, list(experiment.extra["pairs"].values()))


def recall(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Yield figure 5: BERT4Rec, BERT4Rec as a recall model, and FANS."""
    yield Paragraph(f"BERT4Rec_R takes the best items of one prediction; BERT4Rec has the same weights. {NO_NUMBERS}")
    yield from _bar_plots(experiment, results)


def _bar_plots(experiment: Experiment, results: Results, hatched: Sequence[str] = ()) -> Iterator[Block]:
    """Yield a plot and a table per data set; systems named in `hatched` are the variants of those before them."""
    for dataset in results.selection.datasets:
        yield Heading(dataset.title, 3)
        panels = {metric: _bars(dataset, experiment.systems, metric, results) for metric in METRICS}
        if any(panels.values()):
            yield Plot(f"{experiment.name}-{dataset.name}", bar_plot(panels, hatched))
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
    panels: dict[str, dict[str, Line]] = {}
    for found in results.generated(experiment):
        panel = panels.setdefault(f"ms per list, {found['device']}", {})
        panel[f"{found['key']['workload']}, M = {found['key']['items']:,}"] = times_by_categories(found)
    if panels:
        yield Plot(f"{experiment.name}-latency", line_plot(panels, "categories N"))


def time_shares(experiment: Experiment, results: Results) -> Iterator[Block]:
    """Yield figure 6: shares of encoder and classifier."""
    yield Paragraph(
        f"Generated lists and random weights, M = {experiment.extra['shares']['items']:,}, one list at a time; the "
        f"classifier's share includes sorting and the selection of distinct items. {NO_NUMBERS}"
    )
    for found in results.shares(experiment):
        panels: dict[str, dict[int, tuple[float, float]]] = {}
        for row in found["rows"]:
            panel = panels.setdefault(f"{row['classifier']} classifier", {})
            panel[row["layers"]] = (row["encoder_ms"], row["classifier_ms"])
        yield Heading(found["machine"], 3)
        yield Plot(f"{experiment.name}-{found['device']}", share_plot(panels))
        layers = list(next(iter(panels.values())))
        head = ["classifier's share, encoder + classifier", *(f"{n} layer{'s' * (n > 1)}" for n in layers)]
        yield Table(head, [_share_row(title, panel.values()) for title, panel in panels.items()])


def _share_row(title: str, times: Iterable[tuple[float, float]]) -> list[Entry]:
    return [Entry(title), *(Entry(f"{100 * c / (e + c):.0f}%", (f"{e:.2f} + {c:.2f} ms",)) for e, c in times)]
