"""Autoregressive and depth-first selection, from whole rows of scores.

All scores are known at every step; taking the maximum of a masked row for all lists at once costs less there than the
shortlists of `selection.py`.
"""

import torch
from torch import Tensor

from fansrec.engine.decoding.limits import NONE, Limits, Selection
from fansrec.models.contract import ScoreBlock, Steps


class MaskedSelection:
    """The items selected so far for B lists, on the device of the scores; masks what a list may no longer take."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        lists, device = len(limits.blocked), limits.blocked.device
        self.blocked = limits.blocked.clone()
        self.items = torch.full((lists, limits.width), NONE, device=device)
        self.scores = torch.full((lists, limits.width), -torch.inf, device=device)
        self.rows = torch.arange(lists, device=device)

    def take_best(self, scores: Tensor, position: int) -> None:
        """Give each list that requests `position` its best allowed item; `scores` is (B, M)."""
        best, items = scores.masked_fill(self.blocked, -torch.inf).max(1)
        self.put((position < self.limits.counts) & self.limits.accept(best), position, items, best)

    def put(self, takes: Tensor, positions: Tensor | int, items: Tensor, scores: Tensor) -> None:
        """Write an item at a position of each list that `takes` one, and block it there; all are (B,)."""
        where = self.rows, positions
        self.items[where] = torch.where(takes, items, self.items[where])
        self.scores[where] = torch.where(takes, scores.to(self.scores), self.scores[where])
        self.blocked[self.rows, items] |= takes
        if self.limits.max_per_group is not None:
            self._block_full_groups(takes, items)

    def _block_full_groups(self, takes: Tensor, items: Tensor) -> None:
        """Block the groups of which lists just took the last allowed item."""
        groups = self.limits.groups
        assert groups is not None and self.limits.max_per_group is not None
        own = groups[items]
        same = (groups[self.items.clamp(min=0)] == own[:, None]) & (self.items != NONE)
        full = (takes & (same.sum(1) >= self.limits.max_per_group)).nonzero().flatten()
        self.blocked[full] |= groups == own[full, None]

    def result(self) -> Selection:
        return Selection(self.items, self.scores)


def select_autoregressively(steps: Steps, limits: Limits) -> Selection:
    """Select the best item, then the next one given the list with it; a list that may take no item has ended."""
    selection = MaskedSelection(limits)
    for position in range(limits.width):
        if position > 0:
            steps.append(selection.items[:, position - 1])
        selection.take_best(steps.scores(), position)
        ended = selection.items[:, position] == NONE
        if bool(ended.all()):
            break
        selection.blocked |= ended[:, None]
    return selection.result()


def select_depth_first(scores: ScoreBlock, ranks: int, limits: Limits) -> Selection:
    """Select the best item of each position in order, then the second best, as the authors do, skipping repeats.

    Every position is sorted in full, so that neither ties nor rules make an answer depend on the other lists of the
    batch. It is slower than selection by position, and holds the scores of all positions in memory at once.
    """
    selection = MaskedSelection(limits)
    filled = torch.zeros_like(limits.counts)
    for rank in range(ranks):
        if bool((filled < limits.counts).any()):
            _fill(selection, filled, scores(0, limits.width, rank))
    return selection.result()


def _fill(selection: MaskedSelection, filled: Tensor, scores: Tensor) -> None:
    """Go through the items of all positions by depth; `filled` (B,) counts the items that each list has."""
    limits, positions = selection.limits, scores.shape[1]
    beyond = torch.arange(positions, device=scores.device) >= limits.counts[:, None]
    blocked = selection.blocked[:, None] | beyond[..., None] | ~limits.accept(scores)
    ranked = scores.masked_fill(blocked, -torch.inf).sort(dim=2, descending=True, stable=True)
    for depth in range(scores.shape[2]):
        if bool((filled >= limits.counts).all() | (ranked.values[..., depth] == -torch.inf).all()):
            break
        for position in range(positions):
            score, item = ranked.values[:, position, depth], ranked.indices[:, position, depth]
            takes = (filled < limits.counts) & ~selection.blocked[selection.rows, item] & (score > -torch.inf)
            selection.put(takes, filled.clamp(max=positions - 1), item, score)
            filled += takes
