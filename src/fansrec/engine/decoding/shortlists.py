"""`decoding.by_position` from the best few items of every position, chosen on the host.

A list takes at most K items, so the best K allowed ones of a position always hold the one it takes. Full rows of scores
need not be made, nor looked through K times; on a GPU it is K times fewer kernels.
"""

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.engine.decoding.dense import NONE, Answers, Limits, blocks


class Shortlists(Protocol):
    """Scores of positions that can be had as the best few items of each."""

    def best(self, first: int, last: int, rank: int, count: int, blocked: Tensor | None) -> tuple[Tensor, Tensor]:
        """Scores and items, (B, positions, L) each, L <= `count`: the best not `blocked` (B, M), then -inf."""
        ...


def by_position_from_shortlists(shortlists: Shortlists, ranks: int, limits: Limits) -> Answers:
    """The same answers as `by_position`, for limits without groups; items of the very same score may change places."""
    choice = HostChoice(limits.wanted.tolist(), limits.min_score)
    blocked = limits.blocked if bool(limits.blocked.any()) else None
    for rank in range(ranks):
        waiting = choice.waiting()
        if not len(waiting):
            break
        for first, last in blocks(int(waiting[0]), int(waiting[-1]) + 1, limits.blocked.numel()):
            scores, items = shortlists.best(first, last, rank, choice.items.shape[1], blocked)
            choice.take(first, scores.cpu().numpy(), items.cpu().numpy())
    return Answers(torch.from_numpy(choice.items), torch.from_numpy(choice.scores))


class HostChoice:
    """What has been chosen so far for a batch of lists."""

    def __init__(self, wanted: list[int], min_score: float | None) -> None:
        self.wanted = wanted
        self.floor = np.finfo(np.float32).min if min_score is None else min_score
        self.items = np.full((len(wanted), max(wanted, default=0)), NONE)
        self.scores = np.full(self.items.shape, -np.inf, dtype=np.float32)
        self.taken: list[set[int]] = [set() for _ in wanted]

    def waiting(self) -> NDArray[np.int64]:
        """The positions at which some list that wants an item has none."""
        inside = np.arange(self.items.shape[1]) < np.array(self.wanted)[:, None]
        return np.flatnonzero(((self.items == NONE) & inside).any(0))

    def take(self, first: int, scores: NDArray[np.float32], items: NDArray[np.int64]) -> None:
        """Give each list, position by position from `first` on, the best of its shortlist that it has not taken."""
        for row, wanted in enumerate(self.wanted):
            for position in range(first, min(first + scores.shape[1], wanted)):
                if self.items[row, position] == NONE:
                    at = (row, position - first)
                    self._take(row, position, scores[at].tolist(), items[at].tolist())

    def _take(self, row: int, position: int, scores: list[float], items: list[int]) -> None:
        for score, item in zip(scores, items, strict=True):
            if not self.floor <= score < np.inf:  # nor what is not a number
                return
            if item not in self.taken[row]:
                self.items[row, position], self.scores[row, position] = item, score
                self.taken[row].add(item)
                return
