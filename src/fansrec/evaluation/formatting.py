"""How metrics are written for people, the same in terminal tables and in the HTML report."""

from collections.abc import Sequence
from typing import Any

from fansrec.evaluation.protocol import METRICS, protocol

MISSING = "–"

Row = dict[str, Any]
Cell = tuple[str, str]  # a value, and a note that stands next to it or below it

PROTOCOL_NOTES = {
    "paper": (
        "as the authors of FANS measured: the model is given the length of the real continuation and masks as many "
        "positions, items of the input may be answered again, a list counts at n only if its continuation has at least "
        "n items, and the ideal answer of NDCG covers the whole continuation, repeats counted."
    ),
    "standard": (
        "the usual protocol: every list counts, every model answers 10 items without knowing how many there really "
        "are, items of the input may not be answered again, and the ideal answer of NDCG@n has min(n, distinct items "
        "of the continuation) hits."
    ),
}
GIVEN_NOTE = (
    "The same lists with the same targets, but a model is given only the last items of each input, directly before the "
    "target. An input that is shorter is given whole, and half is the usual evaluation, with the whole input. Items "
    "that were left out may be answered, but they are not hits."
)
METRIC_NOTES = {
    "HR@n": "the share of lists with at least one hit among the first n answers.",
    "NDCG@n": "the hits among the first n answers, early ones counting more, over those of the ideal answer.",
    "hit": "an answered item that occurs anywhere in the real continuation, in both protocols.",
    "[low, high]": "the 95% bootstrap interval: as many lists are drawn from these with replacement, 1,000 times.",
    "lists": "how many lists count at 5 / at 10.",
    "order": "of all pairs of hits in one answer, the share in the real order; a random order gives 0.5.",
    "exact": "the share of positions that hold exactly the item of the real continuation.",
    "coverage@10": "the share of the catalog that occurs in the first 10 items of any answer.",
    "categories@10": "how many different categories the first 10 items of an answer have, on average.",
    "real": "the same metric for the first 10 items of the real continuations.",
    "cut": "the same metric for answers cut to the length of the real continuation: compare this one with real.",
    "ms": "the mean time for one list in a call of its own, on the machine that ran this.",
}


def format_value(value: float | None, digits: int = 4) -> str:
    return MISSING if value is None else f"{value:.{digits}f}"


def format_interval(bounds: Sequence[float] | None, digits: int = 4) -> str:
    return "" if bounds is None else f"[{bounds[0]:.{digits}f}, {bounds[1]:.{digits}f}]"


def protocol_label(row: Row) -> str:
    """Return the name of a row's protocol, and what was overridden."""
    defaults = protocol(row["protocol"])
    changed = [f"{name} {row[name]}" for name in ("input", "masks") if row[name] != getattr(defaults, name)]
    given = [] if row["given"] is None else [given_label(row)]
    return ", ".join([row["protocol"], *changed, *given])


def given_label(row: Row) -> str:
    """Return how much of the input the model is given in a row."""
    return "half" if row["given"] is None else f"{row['given']} given"


def curves(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows of each run and protocol: those with short inputs, from few items to many, then the usual one.

    In `rows` the usual row of a run and a protocol comes first. Without short inputs there is no curve.
    """
    found: list[list[Row]] = []
    for row in rows:
        if row["given"] is None:
            found.append([])
        found[-1].append(row)
    return [[*sorted(rest, key=lambda row: row["given"]), usual] for usual, *rest in found if rest]


def given_cells(curve: Sequence[Row], metric: str = "NDCG@5") -> dict[str, Cell]:
    """Return a metric with its intervals, by how much of the input is given."""
    return {given_label(row): (format_value(row[metric]), format_interval(row[f"{metric}_ci"])) for row in curve}


def accuracy_cells(row: Row) -> dict[str, Cell]:
    """Return NDCG and HR with their intervals, the number of lists and the time, by heading."""
    cells = {name: (format_value(row[name]), format_interval(row[f"{name}_ci"])) for name in METRICS}
    return cells | {
        "lists": (f"{row['lists@5']:,}", f"/ {row['lists@10']:,}"),
        "ms": (format_value(row["latency_ms"], 2), ""),
    }


def diversity_cells(row: Row) -> dict[str, Cell]:
    """Return order and diversity, by heading."""
    cut, real = format_value(row["categories@10_matched"], 2), format_value(row["categories@10_real"], 2)
    return {
        "order": (format_value(row["order"]), format_interval(row["order_ci"])),
        "pairs": (f"{row['order_pairs']:,}", ""),
        "exact": (format_value(row["exact"]), ""),
        "coverage@10": (format_value(row["coverage@10"]), f"real {format_value(row['coverage@10_real'])}"),
        "categories@10": (format_value(row["categories@10"], 2), f"cut {cut}, real {real}"),
    }
