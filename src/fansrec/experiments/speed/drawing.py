"""Plots of measurements: `python -m fansrec.experiments.speed.drawing sweep|ratio|stages ROWS.json… --out FILE.png`."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fansrec.evaluation.drawing import LIGHT, png, tidy
from fansrec.files import write_bytes

PANELS = {
    "items": "items M (N near the square root of M)",
    "categories": "categories N",
    "k": "items generated k",
    "batch": "lists a call",
}
STAGES = {"layers_ms": "layers", "items_ms": "products over items", "rest_ms": "the rest"}
COLOURS = ("#2a6f97", "#d9731a", "#3a7d44", "#8b5fbf", "#b23a48", "#6c757d", "#118ab2", "#997b00")
AIM = 0.6  # of K: by how much one pass shall be faster than K passes

Row = dict[str, Any]


def draw_sweep(rows: Sequence[Row], path: Path) -> None:
    """Four panels, both axes by powers of ten; the band is what the medians of the repeats span."""
    picture = _picture(11, 8)
    names = list(dict.fromkeys(_line(row) for row in rows))
    for number, (varies, label) in enumerate(PANELS.items(), 1):
        axes = picture.add_subplot(2, 2, number)
        for name, colour in zip(names, COLOURS * len(names), strict=False):
            points = [row for row in rows if row["varies"] == varies and _line(row) == name]
            _draw_line(axes, sorted(points, key=lambda row: float(row[varies])), varies, name, colour)
        axes.set(xscale="log", yscale="log", xlabel=label, ylabel="ms a list" if varies == "batch" else "ms an answer")
        _finish(axes)
    write_bytes(path, png(picture))


def _line(row: Row) -> str:
    return f"{row['model']} {row['arm']} ({row['backend']}, {row['device']})"


def _draw_line(axes: Axes, points: Sequence[Row], varies: str, name: str, colour: str) -> None:
    if not points:
        return
    where = [row[varies] for row in points]
    middle, low, high = (
        [row[column] / row["batch"] for row in points] for column in ("p50_ms", "p50_low_ms", "p50_high_ms")
    )
    axes.plot(where, middle, color=colour, marker="o", markersize=4, label=name)
    axes.fill_between(where, low, high, color=colour, alpha=0.2, linewidth=0)


def draw_ratio(rows: Sequence[Row], path: Path) -> None:
    """BERT4Rec one by one over FANS in one pass, list by list, against the items generated."""
    picture = _picture(7, 5)
    axes = picture.add_subplot()
    ours = [row for row in rows if (row["arm"], row["variant"]) == ("ours", "paper")]
    slow = {row["device"]: row for row in rows if (row["arm"], row["model"]) == ("autoregressive", "bert4rec")}
    for row, colour in zip(ours, COLOURS * len(ours), strict=False):
        passes = slow[row["device"]]["call_ms"] if row["device"] in slow else []
        ratios = [many / one for many, one in zip(passes, row["call_ms"], strict=False)]
        name = f"{_line(row)}, N={row['categories']}"
        axes.scatter(row["call_k"][: len(ratios)], ratios, s=14, color=colour, label=name)
    ends = [0, max((max(row["call_k"]) for row in ours), default=1)]
    axes.plot(ends, [AIM * k for k in ends], color=LIGHT.ink, linewidth=1, label=f"{AIM} K")
    axes.set(xlabel="items generated K", ylabel="times as long: BERT4Rec one by one")
    _finish(axes)
    write_bytes(path, png(picture))


def draw_stages(rows: Sequence[Row], path: Path) -> None:
    """A bar for each backend and number of categories, cut into the share of each stage."""
    picture = _picture(8, 1.2 + 0.4 * len(rows))
    axes = picture.add_subplot()
    names = [f"{row['backend']}, {row['device']}, N={row['categories']}" for row in rows]
    for place, row in enumerate(rows):
        left = 0.0
        for number, (column, label) in enumerate(STAGES.items()):
            share = max(0.0, row[column] / row["whole_ms"])
            axes.barh(place, share, left=left, color=COLOURS[number], label=label if place == 0 else None)
            left += share
    axes.set_yticks(range(len(rows)), names, parse_math=False)
    axes.invert_yaxis()
    axes.set(xlabel="share of the time of an answer", xlim=(0, 1.35))  # room for the names of the stages
    _finish(axes)
    write_bytes(path, png(picture))


def _picture(width: float, height: float) -> Figure:
    picture = Figure(figsize=(width, height), dpi=120, layout="constrained")
    picture.patch.set_facecolor(LIGHT.background)
    return picture


def _finish(axes: Axes) -> None:
    tidy(axes, LIGHT)
    axes.legend(fontsize=8, frameon=False)


DRAWINGS = {"sweep": draw_sweep, "ratio": draw_ratio, "stages": draw_stages}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fansrec.experiments.speed.drawing", description=__doc__)
    parser.add_argument("what", choices=DRAWINGS, help="rows of bench.sweep, bench.latency or bench.stages")
    parser.add_argument("rows", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    rows = [row for file in given.rows for row in json.loads(file.read_text(encoding="utf-8"))]
    DRAWINGS[given.what](rows, given.out)


if __name__ == "__main__":
    main()
