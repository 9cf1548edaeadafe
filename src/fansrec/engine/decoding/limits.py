"""What the answers to a batch of lists may contain, and the items selected for them."""

from dataclasses import dataclass

import torch
from torch import Tensor

NONE = -1  # stands where a list has no item


@dataclass(frozen=True)
class Limits:
    """The restrictions on the answers to B lists."""

    blocked: Tensor  # (B, M) bool: items that may not be answered
    counts: Tensor  # (B,) int64: how many items each list requests
    groups: Tensor | None = None  # (M,) int64: the group of every item
    max_per_group: int | None = None
    min_score: float | None = None

    @property
    def width(self) -> int:
        """Return K, the largest requested number of items."""
        return int(self.counts.max()) if len(self.counts) else 0

    def accept(self, scores: Tensor) -> Tensor:
        """Return which scores are finite and not below `min_score`, same shape."""
        return scores.isfinite() if self.min_score is None else scores.isfinite() & (scores >= self.min_score)

    def capacities(self) -> Tensor:
        """Return how many items each list could get in all, whatever their scores are, shape (B,)."""
        allowed = ~self.blocked
        if self.groups is None or self.max_per_group is None:
            return allowed.sum(1)
        distinct, groups = torch.unique(self.groups, return_inverse=True)
        per_group = groups.new_zeros(len(allowed), len(distinct)).scatter_add_(
            1, groups.expand_as(allowed), allowed.long()
        )
        capacities: Tensor = per_group.clamp(max=self.max_per_group).sum(1)
        return capacities


@dataclass(frozen=True)
class Selection:
    """At most K selected items for each of B lists; `items` is NONE and `scores` -inf where there is none."""

    items: Tensor  # (B, K) int64
    scores: Tensor  # (B, K) float32
