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
    return ", ".join([row["protocol"], *changed])


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
