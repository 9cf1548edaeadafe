"""From scores to one list of K distinct items under the caller's rules. No model is known here.

A model that scores K positions at once hands over its scores as a `ScoreBlock`: a function from (first position, last
position, rank) to scores (B, positions, M). A model with a two-stage classifier scores one category at a time, the best
at rank 0; a position whose category has nothing left to give is asked again at the next rank. A model that scores only
the next position is taken along item by item, as `Steps`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from fansrec.models.contract import ScoreBlock, Steps

SCORES_AT_ONCE = 1 << 24  # 64 MB of fp32
NONE = -1  # where a list has no item


@dataclass(frozen=True)
class Limits:
    """What a batch of B answers may contain."""

    blocked: Tensor  # (B, M) bool: items that may not be answered
    wanted: Tensor  # (B,) int64: how many items each list shall get
    groups: Tensor | None = None  # (M,) int64: the group of every item
    max_per_group: int | None = None
    min_score: float | None = None


@dataclass(frozen=True)
class Answers:
    """B answers of at most K items, in order; `items` is NONE and `scores` -inf where nothing could be given."""

    items: Tensor  # (B, K) int64
    scores: Tensor  # (B, K) float32


class Choice:
    """What has been chosen so far for a batch of lists, and what may still be chosen."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        lists = len(limits.blocked)
        width = int(limits.wanted.max()) if lists else 0
        self.blocked = limits.blocked.clone()
        self.items = torch.full((lists, width), NONE, device=limits.blocked.device)
        self.scores = torch.full((lists, width), -torch.inf, device=limits.blocked.device)
        self.rows = torch.arange(lists, device=limits.blocked.device)

    def take(self, scores: Tensor, position: int) -> None:
        """Give each list that waits at `position` its best item not taken before; `scores` is (B, M)."""
        best, items = scores.masked_fill(self.blocked, -torch.inf).max(1)
        takes = (position < self.limits.wanted) & (self.items[:, position] == NONE) & self.good_enough(best)
        if self.limits.max_per_group is not None:
            rows = self.rows[takes]
            self.put(rows, torch.full_like(rows, position), items[takes], best[takes])
            return
        # The same for every list at once: a GPU need not be waited for to know which ones take.
        self.items[:, position] = torch.where(takes, items, self.items[:, position])
        self.scores[:, position] = torch.where(takes, best, self.scores[:, position])
        self.blocked[self.rows, items] |= takes

    def good_enough(self, scores: Tensor) -> Tensor:
        floor = self.limits.min_score
        return scores.isfinite() if floor is None else scores.isfinite() & (scores >= floor)

    def put(self, rows: Tensor, positions: Tensor, items: Tensor, scores: Tensor) -> None:
        """Write an item into each of these lists, and never allow it there again."""
        self.items[rows, positions], self.scores[rows, positions] = items, scores.to(self.scores)
        self.blocked[rows, items] = True
        if self.limits.max_per_group is not None:
            self._block_full_groups(rows, items)

    def _block_full_groups(self, rows: Tensor, items: Tensor) -> None:
        """Block the groups of which these lists just took their last allowed item."""
        groups = self.limits.groups
        assert groups is not None and self.limits.max_per_group is not None
        taken = groups[self.items[rows].clamp(min=0)]  # (R, K)
        same = (taken == groups[items, None]) & (self.items[rows] != NONE)
        full = same.sum(1) >= self.limits.max_per_group
        self.blocked[rows[full]] |= groups[None] == groups[items[full], None]

    def waiting(self) -> Tensor:
        """(K,): the positions at which some list that wants an item has none."""
        places = torch.arange(self.items.shape[1], device=self.items.device)
        return ((self.items == NONE) & (places < self.limits.wanted[:, None])).any(0)

    def answers(self) -> Answers:
        return Answers(self.items, self.scores)


def by_position(score: ScoreBlock, ranks: int, limits: Limits) -> Answers:
    """Position by position, the best item not taken before (appendix of the paper)."""
    choice = Choice(limits)
    for rank in range(ranks):
        waiting = choice.waiting().nonzero().flatten().tolist()
        if not waiting or bool(choice.blocked.all()):
            break
        for first, last in blocks(waiting[0], waiting[-1] + 1, limits.blocked.numel()):
            scores = score(first, last, rank)
            for position in range(first, last):
                choice.take(scores[:, position - first], position)
    return choice.answers()


def best_of(scores: Tensor, limits: Limits) -> Answers:
    """The best items of one score for each, (B, M), best first."""
    width = int(limits.wanted.max()) if len(scores) else 0
    if limits.max_per_group is not None:
        choice = Choice(limits)
        for position in range(width):
            choice.take(scores, position)
        return choice.answers()
    best, items = _highest(scores.masked_fill(limits.blocked, -torch.inf), width)
    places = torch.arange(width, device=scores.device)
    given = (places < limits.wanted[:, None]) & best.isfinite()
    if limits.min_score is not None:
        given &= best >= limits.min_score
    return Answers(items.masked_fill(~given, NONE), best.masked_fill(~given, -torch.inf))


def _highest(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` highest scores of every row and their items, (B, count) each; of equals the first item wins."""
    best, items = scores.topk(min(count + 1, scores.shape[1]), dim=1)
    if bool(((best[:, 1:] == best[:, :-1]) & (best[:, 1:] > -torch.inf)).any()):
        return _highest_of_equals(scores, count)  # `topk` breaks ties as it likes, and not alike in a larger batch
    missing = max(0, count - best.shape[1])
    return F.pad(best[:, :count], (0, missing), value=-torch.inf), F.pad(items[:, :count], (0, missing))


def _highest_of_equals(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The same where scores tie."""
    least = scores.topk(min(max(1, count), scores.shape[1]), dim=1).values[:, -1:]
    rows, items = (scores >= least).nonzero(as_tuple=True)
    order = scores[rows, items].argsort(descending=True, stable=True)
    order = order[rows[order].argsort(stable=True)]
    rows, items = rows[order], items[order]
    counts = torch.bincount(rows, minlength=len(scores))
    places = torch.arange(len(rows), device=rows.device) - (counts.cumsum(0) - counts)[rows]
    kept = places < count
    rows, places, items = rows[kept], places[kept], items[kept]
    best = scores.new_full((len(scores), count), -torch.inf)
    found = items.new_zeros((len(scores), count))
    best[rows, places], found[rows, places] = scores[rows, items], items
    return best, found


def one_by_one(steps: Steps, limits: Limits) -> Answers:
    """The best item not taken before, then the next one in the light of it; a list with nothing to take has ended."""
    choice = Choice(limits)
    for position in range(choice.items.shape[1]):
        if position > 0:
            steps.append(choice.items[:, position - 1])
        choice.take(steps.scores(), position)
        ended = choice.items[:, position] == NONE
        if bool(ended.all()):
            break
        choice.blocked |= ended[:, None]
    return choice.answers()


def depth_first(score: ScoreBlock, ranks: int, limits: Limits) -> Answers:
    """The best item of each position in order, then the second best of each, skipping repeats (the authors' code).

    Sorts every position whole, so that neither ties nor rules let an answer depend on its neighbours; it is slower than
    `by_position`, and takes the memory of all positions' scores at once.
    """
    choice = Choice(limits)
    filled = torch.zeros_like(limits.wanted)
    for rank in range(ranks):
        if bool((filled < limits.wanted).any()):
            _append(choice, filled, score(0, choice.items.shape[1], rank))
    return choice.answers()


def _append(choice: Choice, filled: Tensor, scores: Tensor) -> None:
    """Go through all items of all positions, depth after depth; lists take what is allowed until they are full."""
    positions = scores.shape[1]
    beyond = torch.arange(positions, device=scores.device) >= choice.limits.wanted[:, None]
    blocked = choice.blocked[:, None] | beyond[..., None] | ~choice.good_enough(scores)
    ranked = scores.masked_fill(blocked, -torch.inf).sort(dim=2, descending=True, stable=True)
    for depth in range(scores.shape[2]):
        if bool((filled >= choice.limits.wanted).all() | (ranked.values[..., depth] == -torch.inf).all()):
            break
        for position in range(positions):
            score, item = ranked.values[:, position, depth], ranked.indices[:, position, depth]
            takes = (filled < choice.limits.wanted) & ~choice.blocked[choice.rows, item] & (score > -torch.inf)
            rows = choice.rows[takes]
            choice.put(rows, filled[rows], item[takes], score[takes])
            filled += takes


def blocks(first: int, last: int, scores_a_position: int) -> list[tuple[int, int]]:
    """Positions `first` to `last` cut into runs whose scores fit into SCORES_AT_ONCE."""
    step = max(1, SCORES_AT_ONCE // max(1, scores_a_position))
    return [(start, min(start + step, last)) for start in range(first, last, step)]
