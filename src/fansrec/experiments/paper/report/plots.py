"""Plots like the paper's, each for light and dark pages."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from fansrec.evaluation.drawing import DARK, LIGHT, Theme, new_figure, png, tidy
from fansrec.evaluation.markup import Picture

# The paper's circles are blue, orange and green; two more colors follow.
ON_LIGHT = ("#2a6f97", "#d9731a", "#3a8f4f", "#8a5fb0", "#7a7a7a")
ON_DARK = ("#6cb4e0", "#f0a259", "#7fce92", "#c3a3e0", "#b0b0b0")
Bar = tuple[str, float, float | None]  # name, height, deviation
Line = Mapping[Any, float]  # by a number or a name
Draw = Callable[[Axes, str, Theme], None]


def bar_plot(panels: Mapping[str, Sequence[Bar]], hatched: Sequence[str] = ()) -> Picture:
    """Return one panel per metric with one bar per system.

    Systems named in `hatched` are drawn light, in the color of the system before them.
    """

    def draw(axes: Axes, title: str, theme: Theme) -> None:
        for x, (name, height, deviation) in enumerate(panels[title]):
            color = _colors(theme)[(x // 2 if hatched else x) % len(ON_DARK)]
            style = {"alpha": 0.45, "hatch": "//"} if name in hatched else {}
            axes.bar(x, height, color=color, yerr=deviation, ecolor=theme.ink, capsize=3, **style)  # type: ignore[arg-type]
        names = [name for name, _, _ in panels[title]]
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right", parse_math=False)
        axes.set_ylim(bottom=0)  # even if an error bar reaches below 0
        axes.grid(visible=False, axis="x")

    description = "; ".join(
        f"{title}: " + ", ".join(f"{name} {height:.4f}" for name, height, _ in panel) for title, panel in panels.items()
    )
    return _picture(list(panels), draw, description)


def line_plot(panels: Mapping[str, Mapping[str, Line]], x_label: str) -> Picture:
    """Return panels with several lines each; the points of a panel are evenly spaced along x."""

    def draw(axes: Axes, title: str, theme: Theme) -> None:
        ticks = list(dict.fromkeys(x for line in panels[title].values() for x in line))
        for (name, line), color in zip(panels[title].items(), _colors(theme), strict=False):
            axes.plot([ticks.index(x) for x in line], list(line.values()), "o-", color=color, label=name)
        axes.set_xticks(range(len(ticks)), [str(x) for x in ticks])
        axes.set_xlabel(x_label, color=theme.ink)
        axes.set_ylim(0, 1.25 * max((value for line in panels[title].values() for value in line.values()), default=1))
        if title == next(iter(panels)):
            axes.legend(frameon=False, fontsize=8, labelcolor=theme.ink, loc="upper left")

    description = "; ".join(
        f"{title}, {name}: " + ", ".join(f"{x} {value:.4g}" for x, value in line.items())
        for title, panel in panels.items()
        for name, line in panel.items()
    )
    return _picture(list(panels), draw, description)


def share_plot(panels: Mapping[str, Mapping[int, tuple[float, float]]]) -> Picture:
    """Return one panel per classifier: percentages of encoder and classifier by number of layers, with milliseconds."""

    def draw(axes: Axes, title: str, theme: Theme) -> None:
        encoder_color, classifier_color = _colors(theme)[:2]
        for x, (encoder, classifier) in enumerate(panels[title].values()):
            share = 100 * encoder / (encoder + classifier)
            axes.bar(x, share, color=encoder_color, label="encoder" if x == 0 else None)
            axes.bar(x, 100 - share, bottom=share, color=classifier_color, label="classifier" if x == 0 else None)
            axes.text(x, 101, f"{encoder + classifier:.1f}", ha="center", fontsize=7, color=theme.ink)
        axes.set_xticks(range(len(panels[title])), [str(layers) for layers in panels[title]])
        axes.set_xlabel("layers; above the bars: ms per list", color=theme.ink)
        axes.set_ylabel("% of the time", color=theme.ink)
        axes.set_title(title, color=theme.ink, fontsize=11, fontweight="bold", pad=14)
        axes.legend(
            fontsize=8, labelcolor=theme.ink, facecolor=theme.background, edgecolor=theme.grid, loc="lower right"
        )
        axes.grid(visible=False, axis="x")

    description = "; ".join(
        f"{title}: "
        + ", ".join(f"{layers} layers {100 * c / (e + c):.0f}% classifier" for layers, (e, c) in panel.items())
        for title, panel in panels.items()
    )
    return _picture(list(panels), draw, description)


def _colors(theme: Theme) -> tuple[str, ...]:
    return ON_DARK if theme is DARK else ON_LIGHT


def _picture(titles: Sequence[str], draw: Draw, description: str) -> Picture:
    light, dark = (_png(titles, draw, theme) for theme in (LIGHT, DARK))
    return Picture(light, dark, description)


def _png(titles: Sequence[str], draw: Draw, theme: Theme) -> bytes:
    figure = new_figure(max(5.0, 3.2 * len(titles)), 3.4, theme, dpi=130)
    for number, title in enumerate(titles, 1):
        axes = figure.add_subplot(1, len(titles), number)
        tidy(axes, theme)
        axes.set_title(title, color=theme.ink, fontsize=11, fontweight="bold")
        draw(axes, title, theme)
    return png(figure)
