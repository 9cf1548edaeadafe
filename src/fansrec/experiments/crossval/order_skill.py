"""Whether the order of the answers carries skill: exact positions and steps, compared with shuffled answers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.evaluation.bootstrap import interval_list, ratio_of_sums
from fansrec.experiments.cells import Content
from fansrec.experiments.crossval.cross_validation import EVALUATIONS

TOTALS = {"exact": "positions", "adjacent": "steps"}  # a count, and what it is a share of


def order_rows(system: str, contents: Sequence[Content]) -> list[dict[str, Any]]:
    """Return a row per evaluation; `exact_gain` is how much the order adds to the same answers shuffled."""
    if not contents:
        return []
    return [{"system": system, "way": name, **_figures(_counts(contents, name))} for name in EVALUATIONS]


def _counts(contents: Sequence[Content], evaluation: str) -> dict[str, NDArray[Any]]:
    """Return counts by name, shape (lists,), summed over the seeds of each list."""
    lists = np.concatenate([content["lists"] for content in contents])
    _, index = np.unique(lists, return_inverse=True)
    orders = [content["evaluations"][evaluation]["order"] for content in contents]
    return {name: np.bincount(index, np.concatenate([order[name] for order in orders])) for name in orders[0]}


def _figures(counts: dict[str, NDArray[Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "order": ratio_of_sums(counts["in_order"], counts["pairs"]),
        "order_ci": interval_list(counts["in_order"], counts["pairs"]),
        "order_pairs": int(counts["pairs"].sum()),
    }
    for name, total in TOTALS.items():
        gain = counts[name] - counts[f"{name}_shuffled"]
        row[name] = ratio_of_sums(counts[name], counts[total])
        row[f"{name}_shuffled"] = ratio_of_sums(counts[f"{name}_shuffled"], counts[total])
        row[f"{name}_gain"] = ratio_of_sums(gain, counts[total])
        row[f"{name}_gain_ci"] = interval_list(gain, counts[total])
    return row
