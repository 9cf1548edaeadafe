"""Whether an answer is right in its order too, which NDCG and HR do not see: to them a target is a set.

An item that the target repeats counts where it first stands, so any two hits of an answer stand in one order or the
other, and an answer that guesses the order is right in half of its pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

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


def order(answers: NDArray[np.int64], targets: Sequence[NDArray[np.int32]]) -> Order:
    counts = [_pairs(*row) + _positions(*row) for row in zip(answers, targets, strict=True)]
    columns = np.array(counts, dtype=np.int64).reshape(-1, 4).T
    return Order(pairs=columns[0], in_order=columns[1], positions=columns[2], exact=columns[3])


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
    both = min(len(answer), len(target))
    given = answer[:both] >= 0
    return int(given.sum()), int((given & (answer[:both] == target[:both])).sum())
