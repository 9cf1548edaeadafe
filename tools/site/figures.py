"""Draw the diagrams of docs/explanation/how-fans-works.md: python tools/site/figures.py [FOLDER]."""

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

FOLDER = Path(__file__).parents[2] / "docs/images/how-fans-works"
GIVEN, MASK, FOUND, NETWORK = "#dbe7f6", "#f1f1f4", "#d6f0dc", "#fdeccf"
INK, LINE = "#1f2430", "#5b6472"


def box(axes: Axes, x: float, y: float, text: str, color: str, width: float = 0.9, height: float = 0.6) -> None:
    """Draw a rounded box with its lower left corner at (x, y)."""
    style = "round,pad=0,rounding_size=0.08"
    axes.add_patch(FancyBboxPatch((x, y), width, height, style, facecolor=color, edgecolor=LINE, lw=0.8))
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=9, color=INK)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": LINE, "lw": 0.9})


def label(axes: Axes, x: float, y: float, text: str) -> None:
    axes.text(x, y, text, ha="left", va="center", fontsize=9.5, color=INK)


def generation(axes: Axes) -> None:
    """Draw one item after the other beside all items in one pass."""
    label(axes, 0, 4.6, "One item after the other: K passes (SASRec, GRU4Rec, BERT4Rec)")
    for step, shown in enumerate((["a", "b", "?"], ["a", "b", "c", "?"], ["a", "b", "c", "d", "?"])):
        y = 3.5 - step * 0.9
        for column, item in enumerate(shown):
            box(axes, column, y, item, MASK if item == "?" else FOUND if column > 1 else GIVEN)
        label(axes, 5.3, y + 0.3, f"pass {step + 1}: the next item")
    label(axes, 0, 1.1, "All items in one pass (FANS)")
    for column, item in enumerate("ab???"):
        box(axes, column, 0.2, item, MASK if item == "?" else GIVEN)
    label(axes, 5.3, 0.5, "pass 1: every masked position at once")


def network(axes: Axes) -> None:
    """Draw the encoder and the two stages of the classifier."""
    for column, item in enumerate(("CLS", "a", "b", "SEP", "MASK", "MASK", "MASK", "SEP")):
        box(axes, column, 0, item, MASK if item == "MASK" else GIVEN)
        arrow(axes, (column + 0.45, 0.62), (column + 0.45, 0.98))
    box(axes, 0, 1, "embeddings, then Transformer layers with attention in both directions", NETWORK, 7.9)
    for column in (4, 5, 6):
        arrow(axes, (column + 0.45, 1.62), (column + 0.45, 1.98))
    box(axes, 4, 2, "category classifier: one of N", NETWORK, 2.9)
    for column, category in zip((4, 5, 6), ("2", "1", "2"), strict=True):
        box(axes, column, 3, f"cat. {category}", FOUND)
        arrow(axes, (column + 0.45, 2.62), (column + 0.45, 2.98))
        arrow(axes, (column + 0.45, 3.62), (column + 0.45, 3.98))
    box(axes, 4, 4, "local classifiers: an item of it", NETWORK, 2.9)
    for column, item in zip((4, 5, 6), "cde", strict=True):
        box(axes, column, 5, f"item {item}", FOUND)
        arrow(axes, (column + 0.45, 4.62), (column + 0.45, 4.98))
    label(axes, 0, 2.3, "stage 1: N scores instead of M")
    label(axes, 0, 4.3, "stage 2: about M / N scores")
    label(axes, 0, 5.3, "no item twice")


def curriculum(axes: Axes) -> None:
    """Draw how much of a target of five items is masked in each of five steps."""
    label(axes, 1.7, 5.4, "input")
    label(axes, 5.4, 5.4, "target")
    for step in range(5):
        y = 4.3 - step * 0.9
        label(axes, -0.9, y + 0.3, f"step {step + 1}")
        for column in range(4):
            hidden = (step, column) in ((0, 2), (1, 0), (3, 3), (4, 1))
            box(axes, column + 0.4, y, "?" if hidden else "abcd"[column], MASK if hidden else GIVEN)
        for column in range(5):
            masked = column >= 4 - step
            box(axes, column + 4.8, y, "?" if masked else "efghi"[column], MASK if masked else GIVEN)
        label(axes, 10, y + 0.3, f"{(step + 1) * 20}% of the target")


FIGURES: dict[str, tuple[Callable[[Axes], None], tuple[float, float, float, float]]] = {
    "generation": (generation, (-0.1, 9.4, 0, 5)),
    "network": (network, (-0.1, 8.1, -0.1, 5.8)),
    "curriculum": (curriculum, (-1, 12.4, 0.5, 5.8)),
}


def draw(folder: Path) -> None:
    """Write each figure as SVG; the same code gives the same bytes."""
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "fansrec", "font.family": "sans-serif"})
    folder.mkdir(parents=True, exist_ok=True)
    for name, (paint, (left, right, bottom, top)) in FIGURES.items():
        figure = Figure(figsize=((right - left) * 0.8, (top - bottom) * 0.8), layout="constrained")
        axes = figure.add_subplot(xlim=(left, right), ylim=(bottom, top))
        axes.axis("off")
        paint(axes)
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
