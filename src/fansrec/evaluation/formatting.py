"""How metrics are written for people, the same in terminal tables and in the HTML report."""

from collections.abc import Sequence
from typing import Any

from fansrec.evaluation.protocol import protocol

MISSING = "–"

MORE_METRICS = ("recall", "precision", "MAP", "MRR", "novelty")  # beside NDCG and HR

Row = dict[str, Any]
Cell = tuple[str, str]  # a value, and a note that stands next to it or below it

PROTOCOL_NOTES = {
    "paper": (
        "as the authors of FANS measured: the model is given the length of the real continuation and masks as many "
        "positions, items of the input may be answered again, a list counts at n only if its continuation has at least "
        "n items, and the ideal answer of NDCG covers the whole continuation, repeats counted."
    ),
    "standard": (
        "the usual protocol: every list counts, every model answers 10 items (or those of its masks) without knowing "
        "how many there really are, items of the input may not be answered again, and the ideal answer of NDCG@n has "
        "min(n, distinct items of the continuation) hits."
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
    "recall@n": "the share of the distinct items of the real continuation that are among the first n answers.",
    "precision@n": "the share of the first n answers that are hits.",
    "MAP@n": "the mean of the precisions at the positions of the hits, over all distinct items of the continuation.",
    "MRR@n": "1 / the position of the first hit among the first n answers, 0 without a hit.",
    "novelty@n": "how rare the first n answers are: the mean of -log2 of the share of training lists with the item.",
    "hit": "an answered item that occurs anywhere in the real continuation, in both protocols.",
    "[low, high]": "the 95% bootstrap interval: as many lists are drawn from these with replacement, 1,000 times.",
    "lists": "how many lists count, at each n if that depends on n.",
    "order": "of all pairs of hits in one answer, the share in the real order; a random order gives 0.5.",
    "exact": "the share of positions that hold exactly the item of the real continuation.",
    "coverage@10": "the share of the catalog that occurs in the first 10 items of any answer.",
    "categories@10": "how many different categories the first 10 items of an answer have, on average.",
    "real": "the same metric for the first 10 items of the real continuations.",
    "cut": "the same metric for answers cut to the length of the real continuation: compare this one with real.",
    "difference": (
        "the mean difference from the best run over the same lists, with its 95% interval; not significant if "
        "that contains 0. Of twenty comparisons of equally good models, about one looks significant by chance."
    ),
    "popularity of the target": "how many training lists contain an item of the real continuation, on average.",
    "new items": "items that no training list contains, so that a model cannot have learned when they come.",
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


def shown_metrics(row: Row) -> list[str]:
    """Return NDCG and HR at the positions that were requested."""
    return [f"{name}@{n}" for n in row["at"] for name in ("NDCG", "HR")]


def accuracy_cells(row: Row) -> dict[str, Cell]:
    """Return NDCG and HR with their intervals, the number of lists and the time, by heading."""
    cells = {name: metric_cell(row, name) for name in shown_metrics(row)}
    counts = [f"{row[f'lists@{n}']:,}" for n in row["at"]]
    first, *others = counts if len({*counts}) > 1 else counts[:1]
    return cells | {
        "lists": (first, "".join(f"/ {count} " for count in others).strip()),
        "ms": (format_value(row["latency_ms"], 2), ""),
    }


def comparison_cells(row: Row) -> dict[str, Cell]:
    """Return the cells of `accuracy_cells` after the metric of comparison."""
    return {row["by"]: metric_cell(row, row["by"])} | accuracy_cells(row)


def more_cells(row: Row, n: int) -> dict[str, Cell]:
    """Return the other metrics at n with their intervals, by heading."""
    return {name: metric_cell(row, name) for name in (f"{kind}@{n}" for kind in MORE_METRICS)}


def metric_cell(row: Row, name: str) -> Cell:
    """Return a metric and its interval; bits have fewer digits than shares."""
    digits = 2 if name.startswith("novelty") else 4
    return format_value(row[name], digits), format_interval(row[f"{name}_ci"], digits)


def difference_cell(row: Row, metric: str) -> Cell:
    """Return by how much a run differs from the best one, with the interval, and whether that is significant."""
    one = row["differences"][metric]
    if one["interval"] is None:
        return MISSING, ""
    low, high = one["interval"]
    percent = "" if one["percent"] is None else f" ({one['percent']:+.1f}%)"
    note = f"[{low:+.4f}, {high:+.4f}]"
    return f"{one['difference']:+.4f}{percent}", note if low > 0 or high < 0 else f"{note} not significant"


def by_protocol(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows with whole inputs by the label of their protocol, in order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["given"] is None:
            found.setdefault(protocol_label(row), []).append(row)
    return found


def breakdown_lines(rows: Sequence[Row]) -> list[tuple[str, str, int, list[Cell]]]:
    """Return property, group, number of lists, and the metric of comparison of each run in `rows`."""
    metric = rows[0]["by"]
    groups = zip(*(row["breakdown"] for row in rows), strict=True)  # all runs have the same groups
    return [(own[0]["by"], own[0]["group"], own[0]["lists"], [metric_cell(g, metric) for g in own]) for own in groups]


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
