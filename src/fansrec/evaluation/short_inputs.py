"""Plots of accuracy by the number of given items."""

from collections.abc import Sequence
from itertools import cycle

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fansrec.evaluation.drawing import DARK, LIGHT, Theme, new_figure, png, tidy, truncate
from fansrec.evaluation.formatting import Row, curves, format_value, given_label, protocol_label
from fansrec.evaluation.markup import Picture
from fansrec.evaluation.protocol import METRICS

COLORS = ("#2a6f97", "#d9731a", "#3a8f4f", "#a04a9c", "#c23b4e", "#8a7a2b")  # of runs, on light and dark pages
MARKERS = ("o", "s", "^", "D", "v")

Curve = Sequence[Row]


def curve_pictures(rows: Sequence[Row]) -> list[Picture]:
    """Return a plot for each metric and protocol, with a curve for each run; none without short inputs."""
    pictures = []
    found = curves(rows)
    for label in dict.fromkeys(protocol_label(curve[-1]) for curve in found):
        own = [curve for curve in found if protocol_label(curve[-1]) == label]
        for metric in METRICS:
            light, dark = (png(_draw(metric, label, own, theme)) for theme in (LIGHT, DARK))
            pictures.append(Picture(light, dark, _text(metric, label, own)))
    return pictures


def _draw(metric: str, label: str, found: Sequence[Curve], theme: Theme) -> Figure:
    picture = new_figure(5.2, 3.6, theme, dpi=150)
    axes = picture.add_subplot()
    for curve, color, marker in zip(found, cycle(COLORS), cycle(MARKERS)):
        _draw_curve(axes, curve, metric, color, marker)
    shown = found[0]
    axes.set_xticks(range(len(shown)), [given_label(row).removesuffix(" given") for row in shown])
    axes.set_xlabel("given items", color=theme.ink)
    axes.set_ylim(bottom=0)
    axes.set_title(f"{metric}, {label}", fontsize=13, fontweight="bold", color=theme.ink, parse_math=False)
    tidy(axes, theme)
    legend = axes.legend(fontsize=9, frameon=False, labelcolor=theme.ink)
    for text in legend.get_texts():
        text.set_parse_math(False)  # a $ in a name is not math
    return picture


def _draw_curve(axes: Axes, curve: Curve, metric: str, color: str, marker: str) -> None:
    """Draw the values with their intervals as a band; numbers of items without a value are left out."""
    points = [(x, row[metric], *row[f"{metric}_ci"]) for x, row in enumerate(curve) if row[metric] is not None]
    x, values, low, high = zip(*points, strict=True) if points else ((), (), (), ())
    label = f" {truncate(curve[-1]['run'])}"  # without the space, a name that starts with _ is not in the legend
    axes.plot(x, values, color=color, marker=marker, markersize=5, linewidth=1.8, label=label)
    axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)


def _text(metric: str, label: str, found: Sequence[Curve]) -> str:
    """Return what a plot shows as text."""
    lines = [
        f"{curve[-1]['run']}: " + ", ".join(f"{given_label(row)} {format_value(row[metric])}" for row in curve)
        for curve in found
    ]
    return f"{metric} by the number of given items, {label}. " + "; ".join(lines)
