"""Whether systems with the same weights give the same items, position by position."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1  # an item that cannot be compared
TIE = 1e-5  # scores that differ by no more are the same

Items = NDArray[np.int64]


@dataclass(frozen=True)
class Given:
    """What a system gave to one list; not all tell their scores."""

    items: Items
    scores: NDArray[Any] | None = None


@dataclass(frozen=True)
class Agreement:
    """Positions that can be compared, those with the same item, and those with another one of the same score."""

    compared: int = 0
    same: int = 0
    tied: int = 0

    def __add__(self, other: "Agreement") -> "Agreement":
        return Agreement(self.compared + other.compared, self.same + other.same, self.tied + other.tied)

    def share(self, count: int) -> float | None:
        return count / self.compared if self.compared else None


def agreement(ones: Sequence[Given], others: Sequence[Given], one_by_one: bool) -> Agreement:
    """Over the lists that both were given.

    After the first difference an answer made item by item goes its own way: nothing beyond it is compared.
    """
    return sum((_compared(*pair, one_by_one) for pair in zip(ones, others, strict=False)), Agreement())


def _compared(one: Given, other: Given, one_by_one: bool) -> Agreement:
    length = min(len(one.items), len(other.items))
    known = (one.items[:length] != UNKNOWN) & (other.items[:length] != UNKNOWN)
    same = one.items[:length] == other.items[:length]
    tied = np.zeros(length, dtype=bool)
    if one.scores is not None and other.scores is not None:
        tied = ~same & (np.abs(one.scores[:length] - other.scores[:length]) <= TIE)
    end = int(same.argmin()) + 1 if one_by_one and not same.all() else length
    return Agreement(*(int((known & which)[:end].sum()) for which in (known, same, tied)))


def distinct_by_position(ranking: Sequence[Sequence[int]]) -> Items:
    """Position by position the best item not taken before, as the paper's appendix has it, out of the best few."""
    taken: set[int] = set()
    found = []
    for best in ranking:
        item = next((item for item in best if item not in taken), UNKNOWN)
        taken.add(item)
        found.append(item)
    return np.array(found, dtype=np.int64)


def until_a_repeat(ranking: Sequence[Sequence[int]]) -> Items:
    """The best item of every step; from the first that came before, it was fed what a list of distinct items is not."""
    firsts = [best[0] for best in ranking]
    fresh = next((place for place, item in enumerate(firsts) if item in firsts[:place]), len(firsts))
    return np.array(firsts[:fresh] + [UNKNOWN] * (len(firsts) - fresh), dtype=np.int64)
