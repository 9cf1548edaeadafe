"""Position-by-position selection (appendix of the paper).

For each category rank, the positions that are still empty are filled from the first to the last: each takes the best
item of its category of that rank that no other position of the list has taken.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fansrec.engine.decoding.candidates import Candidates
from fansrec.engine.decoding.limits import NONE
from fansrec.engine.rules import Rules

SCORES_AT_ONCE = 1 << 24  # 64 MB of fp32
LOWEST_SCORE = float(np.finfo(np.float32).min)  # the smallest finite score


class Selector:
    """The items selected so far for B lists.

    It works on the host, since a choice depends on all choices before it: one transfer of shortlists takes less time
    than K rounds of GPU kernels, each of which reads all scores again.
    """

    def __init__(self, counts: Sequence[int], rules: Rules) -> None:
        shape = (len(counts), max(counts, default=0))
        self.items = np.full(shape, NONE)
        self.scores = np.full(shape, -np.inf, dtype=np.float32)
        self._requested = np.arange(shape[1]) < np.array(counts, dtype=np.int64)[:, None]  # (B, K)
        self._floor = max(LOWEST_SCORE, -math.inf if rules.min_score is None else rules.min_score)
        self._groups, self._max_per_group = rules.groups, rules.max_per_group
        self._taken: list[set[int]] = [set() for _ in counts]
        self._group_counts: list[Counter[int]] = [Counter() for _ in counts]

    def unfilled(self, capacities: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
        """Return the requested positions without an item, (B, K), except those of lists that have `capacities` items.

        The capacity of a list is the number of items that it could get at most.
        """
        unfilled: NDArray[np.bool_] = (self.items == NONE) & self._requested
        if capacities is not None:
            unfilled &= ((self.items != NONE).sum(1) < capacities)[:, None]
        return unfilled

    def take(self, row: int, position: int, scores: list[float], items: list[int]) -> None:
        """Give a position of a list the first item of its shortlist that the list may take, if there is one."""
        for score, item in zip(scores, items, strict=True):
            if not self._floor <= score < math.inf:  # a comparison with NaN is false too
                return
            if self._try_take(row, item):
                self.items[row, position], self.scores[row, position] = item, score
                return

    def _try_take(self, row: int, item: int) -> bool:
        """Record the item and return True if the list may take it."""
        if item in self._taken[row]:
            return False
        if self._max_per_group is not None and self._groups is not None:
            group = int(self._groups[item])
            if self._group_counts[row][group] >= self._max_per_group:
                return False
            self._group_counts[row][group] += 1
        self._taken[row].add(item)
        return True


def select_by_position(candidates: Candidates, counts: Sequence[int], rules: Rules) -> Selector:
    """Return a selector with the positions of all lists filled; `counts` says how many positions each list has.

    The candidates are already restricted to the items that `rules` allow; the selector adds `min_score` and groups.
    """
    selector = Selector(counts, rules)
    capacities = None  # counted only if the first rank leaves positions without an item
    for rank in range(candidates.ranks):
        if rank == 1 and selector.unfilled().any():
            capacities = candidates.capacities()
        unfilled = selector.unfilled(capacities)
        positions = np.flatnonzero(unfilled.any(0))
        if not len(positions):
            break
        for first, last in position_runs(int(positions[0]), int(positions[-1]) + 1, candidates.scores_per_position):
            here = unfilled[:, first:last]
            scores, items = candidates.best(first, last, rank, here)
            for row, offset in np.argwhere(here).tolist():
                selector.take(row, first + offset, scores[row, offset].tolist(), items[row, offset].tolist())
    return selector


def position_runs(first: int, last: int, scores_per_position: int) -> Iterator[tuple[int, int]]:
    """Cut the positions from `first` to `last` into runs whose scores fit into SCORES_AT_ONCE."""
    step = max(1, SCORES_AT_ONCE // max(1, scores_per_position))
    return ((start, min(start + step, last)) for start in range(first, last, step))
