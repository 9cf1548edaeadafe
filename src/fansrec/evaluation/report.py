"""The HTML report of an evaluation, and the curves of a training run."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fansrec.evaluation.drawing import DARK, LIGHT, Theme, new_figure, png, tidy, truncate
from fansrec.evaluation.formatting import Row, format_value, protocol_label, shown_metrics
from fansrec.evaluation.markup import Picture
from fansrec.evaluation.page import page
from fansrec.evaluation.short_inputs import curve_pictures
from fansrec.files import write_atomically, write_text

CURVES = "curves.png"
MIN_LABELED_WIDTH = 0.07  # of a band, as a share of the plot; narrower ones have no room for their label
PANELS = {
    "loss": "training loss",
    "category_accuracy": "category accuracy in training",
    "valid HR@5": "HR@5 on validation lists",
    "valid NDCG@5": "NDCG@5 on validation lists",
}


def write_report(
    path: Path, rows: Sequence[Row], configs: Mapping[str, Mapping[str, Any]], summary: Mapping[str, Any]
) -> None:
    """Write one self-contained HTML file; `configs` are those of the runs by name, `summary` is that of the corpus."""
    usual = [row for row in rows if row["given"] is None]
    pictures = [
        Picture(light=png(_bars(metric, usual, LIGHT)), dark=png(_bars(metric, usual, DARK)), text=_text(metric, usual))
        for metric in shown_metrics(rows[0])
    ]
    write_text(path, page(rows, configs, summary, pictures, curve_pictures(rows)))


def draw_history(history: list[dict[str, Any]], folder: Path) -> None:
    """Write the loss and validation curves of a training run as `curves.png`; curriculum steps are shaded in turn."""
    shown = [name for name in PANELS if any(row.get(name) is not None for row in history)]
    picture = new_figure(10, 3.2 * math.ceil(len(shown) / 2))
    for number, name in enumerate(shown, 1):
        axes = picture.add_subplot(math.ceil(len(shown) / 2), 2, number)
        _draw_curve(axes, history, name)
        _shade_steps(axes, history)
        tidy(axes, LIGHT)
    picture.supxlabel("bands: curriculum steps, with the share of the target that is masked", fontsize=9)
    write_atomically(folder / CURVES, lambda temporary: temporary.write_bytes(png(picture)))


def _draw_curve(axes: Axes, history: list[dict[str, Any]], name: str) -> None:
    values = [math.nan if row.get(name) is None else row[name] for row in history]
    marker = "o" if len(history) <= 30 else ""
    axes.plot(
        [row["epoch"] for row in history], values, color=LIGHT.bars["paper"], linewidth=1.8, marker=marker, markersize=4
    )
    axes.set_title(PANELS[name], fontsize=11, pad=18)
    axes.set_xlabel("epoch")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _shade_steps(axes: Axes, history: list[dict[str, Any]]) -> None:
    """Draw one band per curriculum step, labeled with the share of the target that is masked in it."""
    for step, group in groupby(history, key=lambda row: row["curriculum_step"]):
        rows = list(group)
        first, last = rows[0]["epoch"] - 0.5, rows[-1]["epoch"] + 0.5
        if step % 2:
            axes.axvspan(first, last, color=LIGHT.bars["paper"], alpha=0.1, linewidth=0)
        if rows[0]["masked_share"] is not None and len(rows) >= MIN_LABELED_WIDTH * len(history):
            middle, label = (first + last) / 2, f"{rows[0]['masked_share']:.0%}"
            axes.text(
                middle, 1.01, label, transform=axes.get_xaxis_transform(), ha="center", fontsize=8, color=LIGHT.ink
            )
    axes.set_xlim(history[0]["epoch"] - 0.5, history[-1]["epoch"] + 0.5)


def _bars(metric: str, rows: Sequence[Row], theme: Theme) -> Figure:
    """Draw one bar per row with its interval, the rows of one protocol together."""
    picture = new_figure(5.2, 1.0 + 0.45 * len(rows), theme, dpi=150)
    axes = picture.add_subplot()
    for y, row in enumerate(rows):
        _draw_bar(axes, y, row, metric, theme)
    labels = [f"{truncate(row['run'])}\n{truncate(protocol_label(row))}" for row in rows]
    axes.set_yticks(range(len(rows)), labels, parse_math=False)  # a $ in a name is not math
    axes.invert_yaxis()
    axes.set_xlim(left=0, right=1.25 * max(0.001, *(_end(row, metric) for row in rows)))
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= 1])  # beyond are only labels
    axes.set_title(metric, fontsize=13, fontweight="bold", color=theme.ink)
    tidy(axes, theme)
    axes.tick_params(axis="y", length=0, labelsize=9)
    axes.grid(visible=False, axis="y")
    return picture


def _draw_bar(axes: Axes, y: int, row: Row, metric: str, theme: Theme) -> None:
    axes.barh(y, row[metric] or 0, height=0.7, color=theme.bars[row["protocol"]])
    ends = row[f"{metric}_ci"]
    if ends is not None:
        axes.plot(ends, [y, y], color=theme.ink, linewidth=1.4, marker="|", markersize=7)
    label = format_value(row[metric]) if row[metric] is not None else "no list counts"
    axes.annotate(
        label, (_end(row, metric), y), (6, 0), textcoords="offset points", va="center", fontsize=9, color=theme.ink
    )


def _end(row: Row, metric: str) -> float:
    return float(max(row[metric] or 0, *(row[f"{metric}_ci"] or (0, 0))))


def _text(metric: str, rows: Sequence[Row]) -> str:
    """Return what a plot shows as text."""
    bars = [
        f"{row['run']}, {protocol_label(row)}: {format_value(row[metric])}" for row in rows if row[metric] is not None
    ]
    return f"{metric}. " + "; ".join(bars)
