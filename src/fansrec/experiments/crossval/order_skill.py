"""Whether the order of the answers carries skill: exact positions and steps beside those of shuffled answers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.evaluation.bootstrap import interval
from fansrec.evaluation.row_parts import interval_list as pair
from fansrec.evaluation.row_parts import ratio_of_sums as share
from fansrec.experiments.crossval.cells import Content
from fansrec.experiments.crossval.train_cell import WAYS

OF = {"exact": "positions", "adjacent": "steps"}  # a count, and out of how many


def order_rows(system: str, contents: Sequence[Content]) -> list[dict[str, Any]]:
    """A row a way; `exact_gain` is how much the order adds to the same answers shuffled, with its interval."""
    return [{"system": system, "way": way, **_figures(_counts(contents, way))} for way in WAYS] if contents else []


def _counts(contents: Sequence[Content], way: str) -> dict[str, NDArray[Any]]:
    """By name, (lists,): sums over the seeds of a list."""
    at = np.concatenate([content["lists"] for content in contents])
    _, place = np.unique(at, return_inverse=True)
    every = [content["ways"][way]["order"] for content in contents]
    return {name: np.bincount(place, np.concatenate([one[name] for one in every])) for name in every[0]}


def _figures(counts: dict[str, NDArray[Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "order": share(counts["in_order"], counts["pairs"]),
        "order_ci": pair(interval(counts["in_order"], counts["pairs"])),
        "order_pairs": int(counts["pairs"].sum()),
    }
    for name, whole in OF.items():
        gain = counts[name] - counts[f"{name}_shuffled"]
        row[name] = share(counts[name], counts[whole])
        row[f"{name}_shuffled"] = share(counts[f"{name}_shuffled"], counts[whole])
        row[f"{name}_gain"] = share(gain, counts[whole])
        row[f"{name}_gain_ci"] = pair(interval(gain, counts[whole]))
    return row
