"""Table cells of the report: our figure, and the paper's below it."""

from collections.abc import Mapping, Sequence

import numpy as np

from fansrec.evaluation.significance import paired_p_values
from fansrec.experiments.paper.report.blocks import NOTHING, Entry, mark_best
from fansrec.experiments.paper.results import Figure, Latency, Ratio, Results, Subject

REAL_TIME_MS = 50  # the paper's limit


def quality_entry(figure: Figure | None, published: float | None = None, p: float | None = None) -> Entry:
    notes = []
    if published is not None:
        notes.append(f"paper {published:.4f}")
    if p is not None:
        notes.append(p_text(p))
    if figure is None:
        return Entry(NOTHING, tuple(notes))
    suffix = "" if figure.deviation is None else f" ± {figure.deviation:.4f}"
    return Entry(f"{figure.mean:.4f}", tuple(notes), suffix=suffix)


def quality_entries(
    figures: Sequence[Figure | None],
    published: Sequence[float | None] | None = None,
    p: Sequence[float | None] | None = None,
) -> list[Entry]:
    """Return a row of figures with the best and the second best marked."""
    nothing = [None] * len(figures)
    entries = [quality_entry(*one) for one in zip(figures, published or nothing, p or nothing, strict=True)]
    return mark_best(entries, [None if figure is None else figure.mean for figure in figures])


def p_text(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def latency_entry(row: Latency | None, published: float | None = None) -> Entry:
    notes = () if published is None else (f"paper {published:.2f}",)
    if row is None:
        return Entry(NOTHING, notes)
    measured = (f"{len(row.milliseconds)} lists", *([] if row.weights == "trained" else [f"weights {row.weights}"]))
    return Entry(f"{row.mean:.2f}", (*measured, *notes), slow=row.mean > REAL_TIME_MS)


def speedup_entry(found: Ratio | None, published: float | None = None) -> Entry:
    notes = () if published is None else (f"paper {published:.1f}x",)
    return Entry(NOTHING, notes) if found is None else Entry(f"{found.value:.1f}x", notes)


def p_against(
    results: Results, subjects: Sequence[Subject], against: Subject, metrics: Sequence[str]
) -> Mapping[tuple[Subject, str], float]:
    """Return the p-value of every subject's difference to `against`, by subject and metric, where both exist."""
    found = {
        (subject, metric): difference
        for subject in subjects
        for metric in metrics
        if subject != against and (difference := results.differences(subject, against, metric)) is not None
    }
    return dict(zip(found, paired_p_values(np.stack(list(found.values()))).tolist(), strict=True)) if found else {}


def list_count(results: Results, subjects: Sequence[Subject], metric: str, protocol: str) -> str:
    """Return the number of lists behind the figures of a metric."""
    counts = {found.lists for subject in subjects if (found := results.figure(subject, metric, protocol)) is not None}
    return f"{max(counts):,} lists" if counts else "no lists"
