"""Whether systems with the same weights give the same items, position by position."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1  # an item that cannot be compared
TIE = 1e-5  # scores that differ by at most this are equal

Items = NDArray[np.int64]


@dataclass(frozen=True)
class Answer:
    """The answer of a system to one list; some systems give no scores."""

    items: Items
    scores: NDArray[Any] | None = None


@dataclass(frozen=True)
class Agreement:
    """Number of positions that were compared, that have the same item, and that have another item of the same score."""

    compared: int = 0
    same: int = 0
    tied: int = 0

    def share(self, count: int) -> float | None:
        return count / self.compared if self.compared else None


def agreement(answers: Sequence[Answer], reference: Sequence[Answer], autoregressive: bool) -> Agreement:
    """Compare answers to the lists that both systems answered.

    An autoregressive answer is compared up to its first difference only: what follows depends on it.
    """
    counts = [_compare(*pair, autoregressive) for pair in zip(answers, reference, strict=False)]
    return Agreement(*map(sum, zip(*counts, strict=True)))


def _compare(one: Answer, other: Answer, autoregressive: bool) -> list[int]:
    length = min(len(one.items), len(other.items))
    known = (one.items[:length] != UNKNOWN) & (other.items[:length] != UNKNOWN)
    same = one.items[:length] == other.items[:length]
    tied = np.zeros(length, dtype=bool)
    if one.scores is not None and other.scores is not None:
        tied = ~same & (np.abs(one.scores[:length] - other.scores[:length]) <= TIE)
    end = int(same.argmin()) + 1 if autoregressive and not same.all() else length
    return [int((known & which)[:end].sum()) for which in (known, same, tied)]


def distinct_by_position(ranking: Sequence[Sequence[int]]) -> Items:
    """Return for each position the best item that no earlier position took, as in the paper's appendix."""
    taken: set[int] = set()
    found = []
    for best in ranking:
        item = next((item for item in best if item not in taken), UNKNOWN)
        taken.add(item)
        found.append(item)
    return np.array(found, dtype=np.int64)


def until_a_repeat(ranking: Sequence[Sequence[int]]) -> Items:
    """Return the best item of every step; from the first repeated item on, the input differs from a distinct list."""
    firsts = [best[0] for best in ranking]
    fresh = next((index for index, item in enumerate(firsts) if item in firsts[:index]), len(firsts))
    return np.array(firsts[:fresh] + [UNKNOWN] * (len(firsts) - fresh), dtype=np.int64)
