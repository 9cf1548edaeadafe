"""Draw the trade-offs that `benchmarks.controls` measured, and print them as a table.

python -m benchmarks.controls_plot [--rows benchmarks/rows/controls] [--out docs/images/controls.png]
"""

import argparse
from operator import itemgetter
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from fansrec.evaluation.drawing import LIGHT, new_figure, png, tidy
from fansrec.files import read_json, write_bytes

SETS = ("sample", "aotm", "recipes", "spotify-attlist")
METRICS = {"coverage@10": "coverage", "similarity@10": "similarity in a list", "popularity@10": "popularity"}
CURVES = {"diversity": ("#2a6f97", "o"), "popularity": ("#d9731a", "s")}
IN_TABLE = {"none": (0.0,), "diversity": (0.2, 0.4, 0.6, 1.0), "popularity": (-0.6, -0.2, 0.2, 0.6)}

Rows = list[dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, default=Path("benchmarks/rows/controls"))
    parser.add_argument("--out", type=Path, default=Path("docs/images/controls.png"))
    options = parser.parse_args()
    rows = {name: read_json(options.rows / f"{name}.json") for name in SETS}
    write_bytes(options.out, draw(rows))
    print("\n".join(table(rows)))


def draw(rows: dict[str, Rows]) -> bytes:
    """Return a picture with a row of plots for each metric and a column for each set."""
    figure = new_figure(3.1 * len(rows), 2.6 * len(METRICS))
    plots = figure.subplots(len(METRICS), len(rows), squeeze=False)
    for metric, line in zip(METRICS, plots, strict=True):
        for axes, own in zip(line, rows.values(), strict=True):
            draw_curves(axes, own, metric)
            axes.set_xlabel(METRICS[metric], fontsize=9, color=LIGHT.ink)
        line[0].set_ylabel("NDCG@10", fontsize=9, color=LIGHT.ink)
    for axes, name in zip(plots[0], rows, strict=True):
        axes.set_title(name, fontsize=10, color=LIGHT.ink)
    plots[0][0].legend(fontsize=7, frameon=False, loc="lower left")
    return png(figure)


def draw_curves(axes: Axes, rows: Rows, metric: str) -> None:
    """Draw NDCG@10 against a metric, a curve for each control; a star marks the answers of the model itself."""
    tidy(axes, LIGHT)
    for control, (color, marker) in CURVES.items():
        points = sorted((row for row in rows if row["control"] in ("none", control)), key=itemgetter("value"))
        x, y = [row[metric] for row in points], [row["NDCG@10"] for row in points]
        axes.plot(x, y, color=color, marker=marker, markersize=3.5, linewidth=1.2, label=control)
        for end in (0, -1):
            if points[end]["value"]:
                label = f"{points[end]['value']:g}"
                axes.annotate(label, (x[end], y[end]), (3, 3), textcoords="offset points", fontsize=7, color=color)
    (base,) = (row for row in rows if row["control"] == "none")
    axes.plot(base[metric], base["NDCG@10"], color=LIGHT.ink, marker="*", markersize=9, linestyle="", label="0")
    axes.margins(x=0.1)
    axes.set_ylim(bottom=0)


def table(rows: dict[str, Rows]) -> list[str]:
    """Return the lines of a table in Markdown."""
    lines = ["| set | control | NDCG@10 | coverage@10 | similarity@10 | popularity@10 |", "|---|---|---|---|---|---|"]
    for name, own in rows.items():
        for row in own:
            if row["value"] in IN_TABLE[row["control"]]:
                control = "none" if row["control"] == "none" else f"`{row['control']}={row['value']:g}`"
                cells = [f"{row['NDCG@10']:.4f}", f"{row['coverage@10']:.1%}", f"{row['similarity@10']:.4f}"]
                lines.append(f"| {name} | {control} | {' | '.join(cells)} | {row['popularity@10']:.2%} |")
    return lines


if __name__ == "__main__":
    main()
