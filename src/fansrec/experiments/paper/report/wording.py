"""Figures as the report writes them: ours, and below it the paper's."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fansrec.experiments.paper.report.blocks import NOTHING, Entry, ranked
from fansrec.experiments.paper.results import Figure, Latency, Ratio, Results, Subject
from fansrec.experiments.paper.significance import p_values

REAL_TIME = 50  # ms: the paper's limit


def quality(figure: Figure | None, published: float | None = None, p: float | None = None) -> Entry:
    notes = []
    if published is not None:
        notes.append(f"paper {published:.4f}")
    if p is not None:
        notes.append(p_text(p))
    if figure is None:
        return Entry(NOTHING, tuple(notes))
    tail = "" if figure.deviation is None else f" ± {figure.deviation:.4f}"
    return Entry(f"{figure.mean:.4f}", tuple(notes), tail=tail)


def qualities(
    figures: Sequence[Figure | None],
    published: Sequence[float | None] | None = None,
    p: Sequence[float | None] | None = None,
) -> list[Entry]:
    """A row of figures, the best and the second best marked."""
    nothing = [None] * len(figures)
    entries = [quality(*one) for one in zip(figures, published or nothing, p or nothing, strict=True)]
    return ranked(entries, [None if figure is None else figure.mean for figure in figures])


def p_text(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def latency(row: Latency | None, published: float | None = None) -> Entry:
    notes = () if published is None else (f"paper {published:.2f}",)
    if row is None:
        return Entry(NOTHING, notes)
    counted = (f"{len(row.milliseconds)} lists", *([] if row.weights == "trained" else [f"weights {row.weights}"]))
    return Entry(f"{row.mean:.2f}", (*counted, *notes), slow=row.mean > REAL_TIME)


def speedup(found: Ratio | None, published: float | None = None) -> Entry:
    notes = () if published is None else (f"paper {published:.1f}x",)
    return Entry(NOTHING, notes) if found is None else Entry(f"{found.value:.1f}x", notes)


def p_against(
    results: Results, subjects: Sequence[Subject], against: Subject, metrics: Sequence[str]
) -> Mapping[tuple[Subject, str], float]:
    """The p-value of every subject's difference to one, by metric, where both are there."""
    found = {
        (subject, metric): difference
        for subject in subjects
        for metric in metrics
        if subject != against and (difference := results.differences(subject, against, metric)) is not None
    }
    return dict(zip(found, p_values(np.stack(list(found.values()))).tolist(), strict=True)) if found else {}


def lists_behind(results: Results, subjects: Sequence[Subject], metric: str, protocol: str) -> str:
    counts = {found.lists for subject in subjects if (found := results.figure(subject, metric, protocol)) is not None}
    return f"{max(counts):,} lists" if counts else "no lists"


def told_machine(machine: Mapping[str, Any]) -> str:
    """On one line."""
    threads = f"{machine['threads']} thread{'s' if machine['threads'] != 1 else ''}"
    return f"{machine['name']}, {threads}" if machine["device"] == "cpu" else str(machine["name"])
