"""How figures are written for people, the same on the terminal and in the report."""

from collections.abc import Sequence

from fansrec.evaluation.protocol import protocol
from fansrec.evaluation.rows import Row

METRICS = ("NDCG@5", "HR@5", "NDCG@10", "HR@10")
NOTHING = "–"

Cell = tuple[str, str]  # a figure, and what is said beside or below it

PROTOCOLS = {
    "paper": (
        "as the authors of FANS measured: the model is told how long the real continuation is and masks as many "
        "positions, items of the input may come again, a list counts at n only if its continuation has at least n "
        "items, and the ideal answer of NDCG covers the whole continuation, repeats counted."
    ),
    "standard": (
        "the usual way: every list counts, every model answers 10 items without knowing how many there really are, "
        "items of the input may not come again, and the ideal answer of NDCG@n has min(n, distinct items of the "
        "continuation) hits."
    ),
}
FIGURES = {
    "HR@n": "the share of lists with at least one hit among the first n answers.",
    "NDCG@n": "the hits among the first n answers, early ones counting more, over those of the ideal answer.",
    "hit": "an answered item that stands anywhere in the real continuation, in both protocols.",
    "[low, high]": "where 95% of the figures lie if as many lists are drawn from these with replacement, 1,000 times.",
    "lists": "how many stand behind the figures at 5 / at 10.",
    "order": "of all pairs of hits in one answer, the share in the real order; guessing gives 0.5.",
    "exact": "the share of positions that hold the very item which really stands there.",
    "coverage@10": "the share of the catalogue that comes up in the first 10 items of any answer.",
    "categories@10": "how many different categories the first 10 items of an answer have, on average.",
    "real": "the same figure for the first 10 items of the real continuations.",
    "cut": "the same figure for answers cut to the length of the real continuation: the one to compare with real.",
    "ms": "the mean time for one list asked alone, on the machine that ran this.",
}


def figure(value: float | None, digits: int = 4) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def bounds(pair: Sequence[float] | None, digits: int = 4) -> str:
    return "" if pair is None else f"[{pair[0]:.{digits}f}, {pair[1]:.{digits}f}]"


def manner(row: Row) -> str:
    """The protocol, and where it was overridden."""
    own = protocol(row["protocol"])
    changed = [f"{name} {row[name]}" for name in ("input", "masks") if row[name] != getattr(own, name)]
    return ", ".join([row["protocol"], *changed])


def accuracy(row: Row) -> dict[str, Cell]:
    """NDCG and HR with their intervals, the lists behind them, the time: each by its heading."""
    cells = {name: (figure(row[name]), bounds(row[f"{name}_ci"])) for name in METRICS}
    return cells | {
        "lists": (f"{row['lists@5']:,}", f"/ {row['lists@10']:,}"),
        "ms": (figure(row["latency_ms"], 2), ""),
    }


def beside(row: Row) -> dict[str, Cell]:
    """The figures beside accuracy, each by its heading."""
    cut, real = figure(row["categories@10_matched"], 2), figure(row["categories@10_real"], 2)
    return {
        "order": (figure(row["order"]), bounds(row["order_ci"])),
        "pairs": (f"{row['order_pairs']:,}", ""),
        "exact": (figure(row["exact"]), ""),
        "coverage@10": (figure(row["coverage@10"]), f"real {figure(row['coverage@10_real'])}"),
        "categories@10": (figure(row["categories@10"], 2), f"cut {cut}, real {real}"),
    }
