"""Statistics and plots of a set of lists: the lengths of the lists and the frequencies of the items."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter
from numpy.typing import NDArray

from fansrec.data.corpus import read_corpus
from fansrec.data.locating import locate
from fansrec.data.public import PUBLIC, Statistics
from fansrec.data.shards import Items, read_blocks
from fansrec.data.sources import read_lists
from fansrec.errors import BadInput, BadSetting
from fansrec.files import write_atomically

FORMATS = ("png", "svg", "pdf")
INK, BLUE, ORANGE, GREY = "#222222", "#2a6f97", "#e07a1f", "#8a8a8a"
MAX_BARS = 60


@dataclass(frozen=True)
class Description:
    title: str
    lengths: NDArray[np.int64]  # of every list
    counts: NDArray[np.int64]  # of every item that occurs, descending

    @property
    def statistics(self) -> Statistics:
        lists, items, interactions = len(self.lengths), len(self.counts), int(self.lengths.sum())
        return Statistics(
            lists=lists,
            items=items,
            interactions=interactions,
            average=interactions / lists,
            shortest=int(self.lengths.min()),
            longest=int(self.lengths.max()),
            density=100 * interactions / (lists * items),
        )

    @property
    def top(self) -> int:
        return max(1, len(self.counts) // 100)

    @property
    def top_share(self) -> float:
        """The percentage of all interactions that belong to the most frequent 1% of the items."""
        return float(100 * self.counts[: self.top].sum() / self.counts.sum())


def describe_source(source: str) -> Description:
    """Describe a corpus folder, a file of lists, or a public set as published."""
    path = Path(source)
    if path.is_dir() and (source not in PUBLIC or (path / "summary.json").is_file()):
        corpus = read_corpus(path)
        return describe(path.resolve().name, corpus.lengths, corpus.items)
    file = locate(source) if source in PUBLIC and not path.is_file() else path
    lists = read_lists(file).lists
    return describe(f"{source} as published" if file != path else path.name, lists.lengths, lists.items)


def describe(title: str, lengths: NDArray[np.int64], items: Items) -> Description:
    """Describe lists given by their lengths and their concatenated items."""
    if not len(items):
        raise BadInput(f"{title} contains no lists; nothing to describe")
    counts = np.zeros(int(items.max()) + 1, dtype=np.int64)
    for block in read_blocks(items):
        counts += np.bincount(block, minlength=len(counts))
    return Description(title, lengths, np.sort(counts[counts > 0])[::-1])


def save_plot(description: Description, out: Path) -> None:
    """Save both plots side by side; the extension of `out` determines the format."""
    kind = out.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise BadSetting(f"cannot draw {out}: its name must end in one of .{', .'.join(FORMATS)}")
    out.parent.mkdir(parents=True, exist_ok=True)
    figure = draw(description)
    write_atomically(out, lambda temporary: figure.savefig(temporary, format=kind, dpi=160))


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
