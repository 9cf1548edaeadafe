"""Plots of measurements: `python -m fansrec.experiments.speed.drawing sweep|ratio|stages ROWS.json… --out FILE.png`."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from fansrec.evaluation.drawing import LIGHT, new_figure, png, tidy
from fansrec.files import write_bytes

PANELS = {
    "items": "items M (N near the square root of M)",
    "categories": "categories N",
    "k": "generated items k",
    "batch": "lists per call",
}
STAGES = {
    "layers_ms": "layers",
    "items_ms": "products over items",
    "parts_ms": "memory, linear part",
    "rest_ms": "rest",
}
COLORS = ("#2a6f97", "#d9731a", "#3a7d44", "#8b5fbf", "#b23a48", "#6c757d", "#118ab2", "#997b00")
TARGET = 0.6  # times k: the target of the speedup of one pass over k passes

Row = dict[str, Any]


def draw_sweep(rows: Sequence[Row], path: Path) -> None:
    """Draw four panels with logarithmic axes; the bands show the range of the repeats' medians."""
    figure = new_figure(11, 8)
    names = list(dict.fromkeys(_system(row) for row in rows))
    for number, (varies, label) in enumerate(PANELS.items(), 1):
        axes = figure.add_subplot(2, 2, number)
        for name, color in zip(names, COLORS * len(names), strict=False):
            points = [row for row in rows if row["varies"] == varies and _system(row) == name]
            _draw_line(axes, sorted(points, key=lambda row: float(row[varies])), varies, name, color)
        unit = "ms per list" if varies == "batch" else "ms per answer"
        axes.set(xscale="log", yscale="log", xlabel=label, ylabel=unit)
        _finish(axes)
    write_bytes(path, png(figure))


def _system(row: Row) -> str:
    variant = "" if row["variant"] == "paper" else f" {row['variant']}"
    run = f" {row['run']}" if row.get("run") else ""
    return f"{row['model']}{variant} {row['arm']}{run} ({row['backend']}, {row['device']})"


def _draw_line(axes: Axes, points: Sequence[Row], varies: str, name: str, color: str) -> None:
    if not points:
        return
    x = [row[varies] for row in points]
    median, low, high = (
        [row[column] / row["batch"] for row in points] for column in ("p50_ms", "p50_low_ms", "p50_high_ms")
    )
    axes.plot(x, median, color=color, marker="o", markersize=4, label=name)
    axes.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)


def draw_ratio(rows: Sequence[Row], path: Path) -> None:
    """Draw the time of autoregressive BERT4Rec over that of FANS in one pass, list by list, by generated items."""
    figure = new_figure(7, 5)
    axes = figure.add_subplot()
    ours = [row for row in rows if row["arm"] == "ours"]
    slow = {row["device"]: row for row in rows if (row["arm"], row["model"]) == ("autoregressive", "bert4rec")}
    for row, color in zip(ours, COLORS * len(ours), strict=False):
        passes = slow[row["device"]]["call_ms"] if row["device"] in slow else []
        ratios = [many / one for many, one in zip(passes, row["call_ms"], strict=False)]
        name = f"{_system(row)}, N={row['categories']}"
        axes.scatter(row["call_k"][: len(ratios)], ratios, s=14, color=color, label=name)
    ends = [0, max((max(row["call_k"]) for row in ours), default=1)]
    axes.plot(ends, [TARGET * k for k in ends], color=LIGHT.ink, linewidth=1, label=f"{TARGET} k")
    axes.set(xlabel="generated items k", ylabel="time of autoregressive BERT4Rec / time of FANS")
    _finish(axes)
    write_bytes(path, png(figure))


def draw_stages(rows: Sequence[Row], path: Path) -> None:
    """Draw one bar per backend and number of categories, divided into the shares of the stages."""
    figure = new_figure(8, 1.2 + 0.4 * len(rows))
    axes = figure.add_subplot()
    names = [_stages_label(row) for row in rows]
    for y, row in enumerate(rows):
        left = 0.0
        for number, (column, label) in enumerate(STAGES.items()):
            share = max(0.0, row.get(column, 0.0) / row["whole_ms"])
            axes.barh(y, share, left=left, color=COLORS[number], label=label if y == 0 else None)
            left += share
    axes.set_yticks(range(len(rows)), names, parse_math=False)
    axes.invert_yaxis()
    axes.set(xlabel="share of the time of an answer", xlim=(0, 1.35))  # leaves room for the legend
    _finish(axes)
    write_bytes(path, png(figure))


def _stages_label(row: Row) -> str:
    hybrid = "hybrid, " if row.get("variant") == "best" else ""
    return f"{hybrid}{row['backend']}, {row['device']}, N={row['categories']}"


def _finish(axes: Axes) -> None:
    tidy(axes, LIGHT)
    if axes.get_legend_handles_labels()[0]:  # a panel may have no rows
        axes.legend(fontsize=8, frameon=False)


PLOTS = {"sweep": draw_sweep, "ratio": draw_ratio, "stages": draw_stages}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fansrec.experiments.speed.drawing", description=__doc__)
    parser.add_argument("plot", choices=PLOTS, help="rows of speed.sweep, speed.latency or speed.stages")
    parser.add_argument("rows", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows = [row for file in options.rows for row in json.loads(file.read_text(encoding="utf-8"))]
    PLOTS[options.plot](rows, options.out)


if __name__ == "__main__":
    main()
