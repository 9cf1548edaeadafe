"""What all plots share: colors for light and dark pages, axes, PNG files."""

import io
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure


@dataclass(frozen=True)
class Theme:
    ink: str
    background: str
    grid: str
    bars: dict[str, str]  # by protocol


LIGHT = Theme("#1f2328", "#ffffff", "#d0d7de", {"paper": "#2a6f97", "standard": "#d9731a"})
DARK = Theme("#e6edf3", "#161b22", "#3d444d", {"paper": "#6cb4e0", "standard": "#f0a259"})


def tidy(axes: Axes, theme: Theme) -> None:
    axes.set_facecolor(theme.background)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(theme.grid)
    axes.tick_params(colors=theme.ink, labelsize=9)
    axes.grid(visible=True, color=theme.grid, linewidth=0.6)
    axes.set_axisbelow(True)


def new_figure(width: float, height: float, theme: Theme = LIGHT, dpi: int = 120) -> Figure:
    """Return an empty figure of `width` x `height` inches on the theme's background."""
    return Figure(figsize=(width, height), dpi=dpi, layout="constrained", facecolor=theme.background)


def png(picture: Figure) -> bytes:
    content = io.BytesIO()
    picture.savefig(content, format="png", facecolor=picture.get_facecolor(), metadata={"Software": None})
    return content.getvalue()


def truncate(text: str, most: int = 24) -> str:
    """Return a label that has room in a plot."""
    return text if len(text) <= most else text[: most - 1] + "…"
