"""Whether answers are right in their order too, which NDCG and HR do not measure: to them a target is a set.

An item that the target repeats counts where it first occurs, so any two hits of an answer are either in the target's
order or not, and an answer in random order has half of its pairs in order.

The baseline is the same answer shuffled: its expected counts over all orders of its items are computed exactly, not
sampled. A model whose counts are not higher knows which items come, but not where.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.evaluation.bootstrap import interval_list, ratio_of_sums

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Targets = Sequence[NDArray[np.int32]]


@dataclass(frozen=True)
class OrderCounts:
    """Counts of each list, (lists,) each."""

    pairs: Ints  # pairs of hits
    in_order: Ints  # of them, those in the target's order
    positions: Ints  # positions at which there is both an answered item and a target item
    exact: Ints  # of them, those at which both are the same item
    steps: Ints  # from one of these positions to the next
    adjacent: Ints  # of them, those from an item to the one that follows it somewhere in the target


@dataclass(frozen=True)
class ShuffledCounts:
    """Expected counts of each list if its answer were shuffled, (lists,) each."""

    exact: Floats
    adjacent: Floats


def count_order(answers: Ints, targets: Targets) -> OrderCounts:
    """Return how far the order of `answers`, (lists, k) with -1 where an answer is shorter, is that of `targets`."""
    counts = [_pairs(*row) + _positions(*row) + _steps(*row) for row in zip(answers, targets, strict=True)]
    return OrderCounts(*np.array(counts, dtype=np.int64).reshape(-1, 6).T)


def count_shuffled(answers: Ints, targets: Targets) -> ShuffledCounts:
    """Return the expected counts of shuffled answers, (lists, k)."""
    means = [_expected(*row) for row in zip(answers, targets, strict=True)]
    return ShuffledCounts(*np.array(means, dtype=np.float64).reshape(-1, 2).T)


def order_part(counts: OrderCounts, shuffled: ShuffledCounts) -> dict[str, Any]:
    """Return `exact` and `adjacent` with those of the same answers shuffled; of shuffled pairs, half are in order."""
    return {
        "order": ratio_of_sums(counts.in_order, counts.pairs),
        "order_ci": interval_list(counts.in_order, counts.pairs),
        "order_pairs": int(counts.pairs.sum()),
        "exact": ratio_of_sums(counts.exact, counts.positions),
        "exact_shuffled": ratio_of_sums(shuffled.exact, counts.positions),
        "exact_hits": int(counts.exact.sum()),
        "exact_positions": int(counts.positions.sum()),
        "adjacent": ratio_of_sums(counts.adjacent, counts.steps),
        "adjacent_shuffled": ratio_of_sums(shuffled.adjacent, counts.steps),
        "adjacent_hits": int(counts.adjacent.sum()),
        "adjacent_steps": int(counts.steps.sum()),
    }


def _pairs(answer: Ints, target: NDArray[np.int32]) -> tuple[int, int]:
    """Return the number of pairs of hits, and how many of them are in the target's order."""
    first_positions: dict[int, int] = {}
    for position, item in enumerate(target.tolist()):
        first_positions.setdefault(item, position)
    found = np.array([first_positions[item] for item in answer.tolist() if item in first_positions], dtype=np.int64)
    ascending = np.triu(found[:, None] < found[None, :], 1)
    return len(found) * (len(found) - 1) // 2, int(ascending.sum())


def _positions(answer: Ints, target: NDArray[np.int32]) -> tuple[int, int]:
    """Return the number of compared positions, and how many of them hold the item of the target."""
    items = _compared(answer, target)
    return len(items), int((items == target[: len(items)]).sum())


def _steps(answer: Ints, target: NDArray[np.int32]) -> tuple[int, int]:
    """Return the number of steps between compared positions, and how many of them occur in the target."""
    items = _compared(answer, target).tolist()
    return max(0, len(items) - 1), len(set(pairwise(items)) & set(pairwise(target.tolist())))


def _expected(answer: Ints, target: NDArray[np.int32]) -> tuple[float, float]:
    """Return the expected counts of exact positions and of adjacent steps.

    Each of n items is at a given position with probability 1/n, and right before another given item with probability
    (n - 1) / (n (n - 1)), which is 1/n too.
    """
    items = set(_compared(answer, target).tolist())
    if not items:
        return 0.0, 0.0
    positions = sum(item in items for item in target[: len(items)].tolist())
    steps = sum(first != then and {first, then} <= items for first, then in set(pairwise(target.tolist())))
    return positions / len(items), steps / len(items)


def _compared(answer: Ints, target: NDArray[np.int32]) -> Ints:
    """Return the answer up to the target's end: the items that can be at their exact position."""
    items = answer[: len(target)]
    return items[items >= 0]
