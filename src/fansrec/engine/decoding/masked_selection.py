"""A selection that masks what a list may no longer take, for decoding from whole rows of scores."""

import torch
from torch import Tensor

from fansrec.engine.decoding.limits import NONE, Limits, Selection


class MaskedSelection:
    """The items selected so far for B lists, on the device of the scores.

    Autoregressive and depth-first decoding have whole rows of scores at hand at every step; taking the maximum of a
    masked row for all lists at once costs less there than the shortlists of `selection.py`.
    """

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
