"""Pictures like the paper's, each for light and for dark pages."""

from collections.abc import Callable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fansrec.evaluation.drawing import DARK, LIGHT, Theme, png, tidy
from fansrec.evaluation.page import Picture

# Blue, orange, green as the paper's circles, then two more; for light and for dark pages.
ON_LIGHT = ("#2a6f97", "#d9731a", "#3a8f4f", "#8a5fb0", "#7a7a7a")
ON_DARK = ("#6cb4e0", "#f0a259", "#7fce92", "#c3a3e0", "#b0b0b0")
Bar = tuple[str, float, float | None]  # a name, a height, a deviation
Line = Mapping[float | str, float]


def bars(panels: Mapping[str, Sequence[Bar]], hatched: Sequence[str] = (), paired: bool = False) -> Picture:
    """A panel a metric with a bar a system; `hatched` names those drawn pale, `paired` gives twins one colour."""

    def draw(axes: Axes, title: str, theme: Theme) -> None:
        for place, (name, height, deviation) in enumerate(panels[title]):
            colour = _colours(theme)[(place // 2 if paired else place) % len(ON_DARK)]
            style = {"alpha": 0.45, "hatch": "//"} if name in hatched else {}
            axes.bar(place, height, color=colour, yerr=deviation, ecolor=theme.ink, capsize=3, **style)  # type: ignore[arg-type]
        names = [name for name, _, _ in panels[title]]
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right", parse_math=False)
        axes.set_ylim(bottom=0)  # whatever the error bars reach
        axes.set_title(title, color=theme.ink, fontsize=11, fontweight="bold")
        axes.grid(visible=False, axis="x")

    told = "; ".join(
        f"{title}: " + ", ".join(f"{name} {height:.4f}" for name, height, _ in panel) for title, panel in panels.items()
    )
    return _both(list(panels), draw, told)


def lines(panels: Mapping[str, Mapping[str, Line]], along: str) -> Picture:
    """A panel each with its lines over the same places."""

    def draw(axes: Axes, title: str, theme: Theme) -> None:
        places = list(dict.fromkeys(place for line in panels[title].values() for place in line))
        for (name, line), colour in zip(panels[title].items(), _colours(theme), strict=False):
            axes.plot([places.index(place) for place in line], list(line.values()), "o-", color=colour, label=name)
        axes.set_xticks(range(len(places)), [str(place) for place in places])
        axes.set_xlabel(along, color=theme.ink)
        axes.set_ylim(0, 1.25 * max((value for line in panels[title].values() for value in line.values()), default=1))
        axes.set_title(title, color=theme.ink, fontsize=11, fontweight="bold")
        if title == next(iter(panels)):
            axes.legend(frameon=False, fontsize=8, labelcolor=theme.ink, loc="upper left")

    told = "; ".join(
        f"{title}, {name}: " + ", ".join(f"{place} {value:.4g}" for place, value in line.items())
        for title, panel in panels.items()
        for name, line in panel.items()
    )
    return _both(list(panels), draw, told)


def shares(panels: Mapping[str, Mapping[int, tuple[float, float]]]) -> Picture:
    """A panel a classifier: percent of encoder and classifier by the number of layers, with the milliseconds above."""

    def draw(axes: Axes, title: str, theme: Theme) -> None:
        encoder, classifier = _colours(theme)[:2]
        for place, (below, above) in enumerate(panels[title].values()):
            part = 100 * below / (below + above)
            axes.bar(place, part, color=encoder, label="encoder" if place == 0 else None)
            axes.bar(place, 100 - part, bottom=part, color=classifier, label="classifier" if place == 0 else None)
            axes.text(place, 101, f"{below + above:.1f}", ha="center", fontsize=7, color=theme.ink)
        axes.set_xticks(range(len(panels[title])), [str(layers) for layers in panels[title]])
        axes.set_xlabel("layers; above the bars: ms a list", color=theme.ink)
        axes.set_ylabel("% of the time", color=theme.ink)
        axes.set_title(title, color=theme.ink, fontsize=11, fontweight="bold", pad=14)
        axes.legend(
            fontsize=8, labelcolor=theme.ink, facecolor=theme.background, edgecolor=theme.grid, loc="lower right"
        )
        axes.grid(visible=False, axis="x")

    told = "; ".join(
        f"{title}: "
        + ", ".join(f"{layers} layers {100 * c / (e + c):.0f}% classifier" for layers, (e, c) in panel.items())
        for title, panel in panels.items()
    )
    return _both(list(panels), draw, told)


def _colours(theme: Theme) -> tuple[str, ...]:
    return ON_DARK if theme is DARK else ON_LIGHT


def _both(titles: Sequence[str], draw: Callable[[Axes, str, Theme], None], told: str) -> Picture:
    light, dark = (png(_panels(titles, draw, theme)) for theme in (LIGHT, DARK))
    return Picture(light, dark, told)


def _panels(titles: Sequence[str], draw: Callable[[Axes, str, Theme], None], theme: Theme) -> Figure:
    width = max(5.0, 3.2 * len(titles))
    picture = Figure(figsize=(width, 3.4), dpi=130, layout="constrained", facecolor=theme.background)
    for number, title in enumerate(titles, 1):
        axes = picture.add_subplot(1, len(titles), number)
        tidy(axes, theme)
        draw(axes, title, theme)
    return picture
