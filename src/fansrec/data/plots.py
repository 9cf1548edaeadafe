"""Plots of a set of lists: the lengths of the lists and the frequencies of the items."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from fansrec.data.describe import Description
from fansrec.errors import BadSetting
from fansrec.files import write_atomically

FORMATS = ("png", "svg", "pdf")
INK, BLUE, ORANGE, GREY = "#222222", "#2a6f97", "#e07a1f", "#8a8a8a"
MAX_BARS = 60


def save_plot(description: Description, out: Path) -> None:
    """Save both plots side by side; the extension of `out` determines the format."""
    kind = check_format(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure = draw(description)
    write_atomically(out, lambda temporary: figure.savefig(temporary, format=kind, dpi=160))


def check_format(out: Path) -> str:
    """Return the format of a plot by its file name; raise BadSetting if there is none."""
    kind = out.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise BadSetting(f"cannot draw {out}: its name must end in one of .{', .'.join(FORMATS)}")
    return kind


def draw(description: Description) -> Figure:
    # Figure instead of pyplot: it needs no window system and has no global state.
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    size = description.statistics
    sizes = f"{size.lists:,} lists, {size.items:,} items, {size.interactions:,} interactions"
    figure.suptitle(f"{description.title}: {sizes}", color=INK, fontweight="bold")
    left, right = figure.subplots(1, 2)
    _draw_lengths(left, description)
    _draw_frequencies(right, description)
    for axes in (left, right):
        _tidy(axes)
    return figure


def _draw_lengths(axes: Axes, description: Description) -> None:
    lengths = description.lengths
    shortest, longest = int(lengths.min()), int(lengths.max())
    width = max(1, -(-(longest - shortest + 1) // MAX_BARS))  # list lengths per bar
    edges = np.arange(shortest, longest + width + 1, width) - 0.5
    axes.hist(lengths, bins=edges.tolist(), color=BLUE, edgecolor="white", linewidth=0.4)
    median = float(np.median(lengths))
    axes.axvline(median, color=ORANGE, linewidth=1.8, label=f"median {median:g}")
    axes.set(title="List lengths", xlabel="items in a list", ylabel="lists")
    axes.legend(frameon=False)


def _draw_frequencies(axes: Axes, description: Description) -> None:
    counts = description.counts
    ranks = np.arange(1, len(counts) + 1)
    top = description.top
    axes.loglog(ranks, counts, color=BLUE, linewidth=2)
    label = f"the top {top:,} of {len(counts):,} items:\n{description.top_share:.1f}% of all interactions"
    axes.loglog(ranks[:top], counts[:top], color=ORANGE, linewidth=4, solid_capstyle="round", label=label)
    axes.set(title="Item frequencies", xlabel="rank of the item", ylabel="occurrences")
    axes.legend(frameon=False, loc="upper right")


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, which="major", color=GREY, alpha=0.2)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
