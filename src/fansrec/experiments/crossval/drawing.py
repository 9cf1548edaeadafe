"""A plot of a result: NDCG@5 of every system with its interval, one panel per evaluation."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fansrec.evaluation.drawing import LIGHT, new_figure, png, tidy
from fansrec.experiments.crossval.cross_validation import EVALUATIONS
from fansrec.files import write_bytes

METRIC = "NDCG@5"


def draw(result: Mapping[str, Any], path: Path) -> None:
    systems = [row["system"] for row in result["systems"]]
    figure = new_figure(10, 1.2 + 0.4 * len(systems))
    for panel, (name, evaluation) in enumerate(EVALUATIONS.items(), 1):
        axes = figure.add_subplot(1, len(EVALUATIONS), panel)
        for row in result["figures"]:
            if row["way"] != name or row["metric"] != METRIC or row["mean"] is None:
                continue
            y = systems.index(row["system"])
            axes.barh(y, row["mean"], height=0.7, color=LIGHT.bars[evaluation.protocol.name])
            axes.plot(row["interval"], [y, y], color=LIGHT.ink, linewidth=1.4, marker="|", markersize=7)
        axes.set_yticks(range(len(systems)), systems if panel == 1 else [""] * len(systems), parse_math=False)
        axes.invert_yaxis()
        axes.set_title(f"{METRIC}, {name}", fontsize=11)
        tidy(axes, LIGHT)
    write_bytes(path, png(figure))
