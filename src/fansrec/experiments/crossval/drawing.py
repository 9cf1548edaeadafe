"""A picture of a result: NDCG@5 of every system with its interval, a panel a way of asking."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from fansrec.evaluation.drawing import LIGHT, png, tidy
from fansrec.experiments.crossval.train_cell import WAYS
from fansrec.files import write_bytes

METRIC = "NDCG@5"


def draw(result: Mapping[str, Any], path: Path) -> None:
    systems = [row["system"] for row in result["systems"]]
    picture = Figure(figsize=(10, 1.2 + 0.4 * len(systems)), dpi=120, layout="constrained")
    for panel, (way, how) in enumerate(WAYS.items(), 1):
        axes = picture.add_subplot(1, len(WAYS), panel)
        for row in result["figures"]:
            if row["way"] != way or row["metric"] != METRIC or row["mean"] is None:
                continue
            place = systems.index(row["system"])
            axes.barh(place, row["mean"], height=0.7, color=LIGHT.bars[how.name])
            axes.plot(row["interval"], [place, place], color=LIGHT.ink, linewidth=1.4, marker="|", markersize=7)
        axes.set_yticks(range(len(systems)), systems if panel == 1 else [""] * len(systems), parse_math=False)
        axes.invert_yaxis()
        axes.set_title(f"{METRIC}, {way}", fontsize=11)
        tidy(axes, LIGHT)
    write_bytes(path, png(picture))
