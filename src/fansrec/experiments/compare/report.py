"""The report of a comparison: a Markdown table that can be read as plain text, and a plot."""

from pathlib import Path

from matplotlib.axes import Axes

from fansrec.evaluation.drawing import LIGHT, new_figure, png, tidy
from fansrec.evaluation.formatting import MISSING, format_interval, format_value
from fansrec.evaluation.protocol import METRICS
from fansrec.experiments.compare.comparison import METRIC, Comparison, titles
from fansrec.experiments.compare.measuring import Measured
from fansrec.experiments.crossval.report import table
from fansrec.files import write_bytes, write_text
from fansrec.training.reporting import format_values

LEAST_MS = 0.001  # of the axis


def write_report(found: Comparison, text: Path, plot: Path) -> None:
    """Write the Markdown table and the plot."""
    write_text(text, markdown(found))
    write_bytes(plot, draw(found))


def markdown(found: Comparison) -> str:
    """Return the report; its table is aligned."""
    blocks = [
        f"# Models on {found.corpus.resolve().name}",
        f"{found.lists:,} test lists, 10 items each, those of the input excluded (protocol standard), with 95% "
        f"intervals. Settings were searched on the validation lists, for at most {found.search_seconds:g} s for each "
        f"model in closed form. Behind: the best model minus this one, list by list.",
        table(*_cells(found)),
        *found.reasons,
        f"Its model is in `{found.run}`.",
        "Settings that were found:",
        "\n".join(f"- {one.title}: {format_values(one.settings)}" for one in found.models if one.settings),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _cells(found: Comparison) -> tuple[list[str], list[list[str]]]:
    names = titles(found.models)
    head = ["model", f"{METRIC}", *METRICS[1:], "behind", "ms per list", "training, s", "settings tried"]
    return head, [[names[one.name], *_figures(found, one)] for one in found.models]


def _figures(found: Comparison, one: Measured) -> list[str]:
    row, behind = one.row, found.ranking.behind.get(one.name)
    apart = "" if behind is None else f"{behind.mean:.4f} {format_interval(behind.interval)}"
    seconds = MISSING if one.training_seconds is None else f"{one.training_seconds:.1f}"
    return [
        f"{format_value(row[METRIC])} {format_interval(row[f'{METRIC}_ci'])}",
        *(format_value(row[metric]) for metric in METRICS[1:]),
        apart,
        format_value(row["latency_ms"], 2),
        seconds,
        str(one.tried or ""),
    ]


def draw(found: Comparison) -> bytes:
    """Return a plot of quality with its interval against the time of an answer; the recommended model is filled."""
    figure = new_figure(8, 5)
    axes = figure.add_subplot()
    names, color = titles(found.models), LIGHT.bars["paper"]
    for one in found.models:
        x, y = max(one.row["latency_ms"], LEAST_MS), one.row[METRIC]
        low, high = one.row[f"{METRIC}_ci"] or (y, y)
        chosen = one.name == found.recommended.name
        axes.plot([x, x], [low, high], color=LIGHT.ink, linewidth=1.2, alpha=0.6)
        axes.plot(x, y, marker="o", markersize=9, color=color, markerfacecolor=color if chosen else LIGHT.background)
        _label(axes, names[one.name] + (", recommended" if chosen else ""), x, y)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.margins(x=0.2)
    axes.set_xlabel("ms per list, one list at a time")
    axes.set_ylabel(f"{METRIC} on {found.lists:,} test lists, with 95% interval")
    tidy(axes, LIGHT)
    return png(figure)


def _label(axes: Axes, name: str, x: float, y: float) -> None:
    box = {"facecolor": LIGHT.background, "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
    axes.annotate(
        name, (x, y), (8, 4), "data", "offset points", parse_math=False, color=LIGHT.ink, fontsize=9, bbox=box
    )
