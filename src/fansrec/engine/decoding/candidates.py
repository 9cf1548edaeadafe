"""Where candidates for the positions of answers come from: rows of scores or a classifier's shortlists.

A model that scores K positions at once gives its scores as a `ScoreBlock`: a function from (first position, last
position, rank) to scores (B, positions, M). A two-stage classifier scores one category at a time, the most probable
one at rank 0; a position whose category has no item left goes on at the next rank. Other models have one rank.
"""

from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.engine.decoding.limits import Limits
from fansrec.engine.decoding.top_items import top_items
from fansrec.models.contract import GivesShortlists, ScoreBlock


class Shortlists(NamedTuple):
    """The best allowed items of positions, best first; where there are no more, scores are -inf."""

    scores: NDArray[np.float32]  # (…, L)
    items: NDArray[np.int64]  # (…, L)


class Candidates(Protocol):
    """A source of the best allowed items of the positions of B lists."""

    @property
    def ranks(self) -> int:
        """Return how many times a position can ask for further items."""
        ...

    @property
    def scores_per_position(self) -> int:
        """Return how many scores are in memory at once for each position of a run."""
        ...

    def best(self, first: int, last: int, rank: int, waiting: NDArray[np.bool_]) -> Shortlists:
        """Return shortlists (B, last - first, L) of the positions from `first` to `last`.

        An answer has at most K items, so the best K allowed items of a position always contain the one that it takes.
        With a limit per group, the best K items within that limit do: for each of them that a list may not take, be it
        taken or of a full group, the list has taken one item. Shortlists are only read where `waiting`, (B, last -
        first), is true.
        """
        ...

    def capacities(self) -> NDArray[np.int64] | None:
        """Return how many items each list could get in all, (B,), or None if counting them would cost too much."""
        ...


class ScoreCandidates:
    """Candidates from a model's scores of all items, or from its shortlists if it has them.

    With `repeat_first`, every position has the candidates of the first one: recall, the best k of one prediction.
    """

    def __init__(self, scores: ScoreBlock, ranks: int, limits: Limits, repeat_first: bool = False) -> None:
        self.ranks = ranks
        self.scores_per_position = 0 if repeat_first else limits.blocked.numel()
        self._scores, self._limits, self._repeat_first = scores, limits, repeat_first
        self._blocked = limits.blocked if bool(limits.blocked.any()) else None

    def best(self, first: int, last: int, rank: int, waiting: NDArray[np.bool_]) -> Shortlists:
        scores, items = self._best(0, 1, rank) if self._repeat_first else self._best(first, last, rank)
        shape = (*waiting.shape, scores.shape[2])
        return Shortlists(*(np.broadcast_to(part.cpu().numpy(), shape) for part in (scores, items)))

    def _best(self, first: int, last: int, rank: int) -> tuple[Tensor, Tensor]:
        limits = self._limits
        if isinstance(self._scores, GivesShortlists) and limits.max_per_group is None:
            return self._scores.best(first, last, rank, limits.width, self._blocked)
        rows = self._scores(first, last, rank).masked_fill(limits.blocked[:, None], -torch.inf)
        best, items = top_items(rows.flatten(0, 1), limits.width, limits.groups, limits.max_per_group)
        shape = (*rows.shape[:2], limits.width)
        return best.view(shape), items.view(shape)

    def capacities(self) -> NDArray[np.int64]:
        return self._limits.capacities().cpu().numpy()
