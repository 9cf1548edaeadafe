"""What is left of an answer's order if the answer is shuffled: the mean over all its orders, so no draw blurs it.

The same items stand at the same positions, in any order with equal chance. If a figure of `order` is no higher than
this, the model knows which items come, and nothing of where. Of the pairs of hits, half are in order then.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fansrec.evaluation.order import compared

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shuffled:
    """Means of counts, one a list, to be set beside those of `Order`."""

    exact: Floats
    adjacent: Floats


def shuffled(answers: NDArray[np.int64], targets: Sequence[NDArray[np.int32]]) -> Shuffled:
    means = [_means(*row) for row in zip(answers, targets, strict=True)]
    exact, adjacent = np.array(means, dtype=np.float64).reshape(-1, 2).T
    return Shuffled(exact, adjacent)


def _means(answer: NDArray[np.int64], target: NDArray[np.int32]) -> tuple[float, float]:
    """Each of n items is at a position with chance 1/n; one is right before another with (n - 1) / (n (n - 1))."""
    items = set(compared(answer, target).tolist())
    if not items:
        return 0.0, 0.0
    positions = sum(item in items for item in target[: len(items)].tolist())
    steps = sum(first != then and {first, then} <= items for first, then in set(pairwise(target.tolist())))
    return positions / len(items), steps / len(items)
