"""Table cells of the report: our figure, and the paper's below it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fansrec.experiments.paper.results import PAPER, Figure, Latency, Results, Subject

BEST, SECOND = "best", "second"
NOTHING = "–"
REAL_TIME_MS = 50  # the paper's limit


@dataclass(frozen=True)
class Entry:
    """A table cell: a figure, notes below it, and how it is marked."""

    text: str
    notes: tuple[str, ...] = ()
    mark: str = ""  # BEST, SECOND or none
    slow: bool = False  # above the paper's limit of 50 ms
    suffix: str = ""  # follows the figure, never in bold


def mark_best(entries: Sequence[Entry], values: Iterable[float | None], highest: bool = True) -> list[Entry]:
    """Return the entries with the best and the second best value marked; equal values share a mark, as in the paper."""
    known = list(values)
    distinct = sorted({round(value, 4) for value in known if value is not None}, reverse=highest)
    marks = dict(zip(distinct, (BEST, SECOND), strict=False))
    return [
        entry if value is None else replace(entry, mark=marks.get(round(value, 4), ""))
        for entry, value in zip(entries, known, strict=True)
    ]


def quality_entry(figure: Figure | None, published: float | None = None, p: float | None = None) -> Entry:
    notes: tuple[str, ...] = () if published is None else (f"paper {published:.4f}",)
    notes += () if p is None else (p_text(p),)
    if figure is None:
        return Entry(NOTHING, notes)
    suffix = "" if figure.deviation is None else f" ± {figure.deviation:.4f}"
    return Entry(f"{figure.mean:.4f}", notes, suffix=suffix)


def quality_entries(
    results: Results,
    subjects: Sequence[Subject],
    metric: str,
    published: Sequence[float | None] | None = None,
    p: Sequence[float | None] | None = None,
    protocol: str = PAPER,
) -> tuple[str, list[Entry]]:
    """Return the number of lists behind a metric, and an entry per subject with the best and second best marked."""
    figures, nothing = [results.figure(subject, metric, protocol) for subject in subjects], [None] * len(subjects)
    entries = [quality_entry(*one) for one in zip(figures, published or nothing, p or nothing, strict=True)]
    lists = max((figure.lists for figure in figures if figure is not None), default=None)
    marked = mark_best(entries, [None if figure is None else figure.mean for figure in figures])
    return "no lists" if lists is None else f"{lists:,} lists", marked


def p_text(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def latency_entry(row: Latency | None, published: float | None = None) -> Entry:
    notes = () if published is None else (f"paper {published:.2f}",)
    if row is None:
        return Entry(NOTHING, notes)
    measured = (f"{len(row.milliseconds)} lists", *([] if row.weights == "trained" else [f"weights {row.weights}"]))
    return Entry(f"{row.mean:.2f}", (*measured, *notes), slow=row.mean > REAL_TIME_MS)
