"""Whether an answer is right in its order too, which NDCG and HR do not see: to them a target is a set.

An item that the target repeats counts where it first stands, so any two hits of an answer stand in one order or the
other, and an answer that guesses the order is right in half of its pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Order:
    """Counts, one a list."""

    pairs: Ints  # pairs of hits
    in_order: Ints  # of them, those that stand in the target's order
    positions: Ints  # positions at which there is both an answer and a target item
    exact: Ints  # of them, those at which both are the same item
    steps: Ints  # from one of these positions to the next
    adjacent: Ints  # of them, those from an item to the one that follows it somewhere in the target


def order(answers: NDArray[np.int64], targets: Sequence[NDArray[np.int32]]) -> Order:
    counts = [_pairs(*row) + _positions(*row) + _steps(*row) for row in zip(answers, targets, strict=True)]
    pairs, in_order, positions, exact, steps, adjacent = np.array(counts, dtype=np.int64).reshape(-1, 6).T
    return Order(pairs, in_order, positions, exact, steps, adjacent)


def _pairs(answer: NDArray[np.int64], target: NDArray[np.int32]) -> tuple[int, int]:
    """How many pairs of hits there are, and how many of them are in the target's order."""
    places: dict[int, int] = {}
    for place, item in enumerate(target.tolist()):
        places.setdefault(item, place)
    found = np.array([places[item] for item in answer.tolist() if item in places], dtype=np.int64)
    rising = np.triu(found[:, None] < found[None, :], 1)
    return len(found) * (len(found) - 1) // 2, int(rising.sum())


def _positions(answer: NDArray[np.int64], target: NDArray[np.int32]) -> tuple[int, int]:
    """How many positions can be compared, and how many hold the very item of the target."""
    given = compared(answer, target)
    return len(given), int((given == target[: len(given)]).sum())


def _steps(answer: NDArray[np.int64], target: NDArray[np.int32]) -> tuple[int, int]:
    """How many steps there are between compared positions, and how many of them the target takes too."""
    given = compared(answer, target).tolist()
    return max(0, len(given) - 1), len(set(pairwise(given)) & set(pairwise(target.tolist())))


def compared(answer: NDArray[np.int64], target: NDArray[np.int32]) -> NDArray[np.int64]:
    """The answer up to the target's end: the items that can stand at their very position."""
    cut = answer[: len(target)]
    return cut[cut >= 0]
