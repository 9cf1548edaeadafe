"""What the answers to a batch of lists may contain, and the items selected for them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.engine.rules import Rules

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


def make_limits(
    rules: Rules, inputs: Sequence[NDArray[np.int64]], counts: Sequence[int], items: int, device: torch.device | str
) -> Limits:
    """Return the rules for a batch of inputs as tensors."""
    blocked = np.zeros((len(inputs), items), dtype=bool)
    if rules.allow is not None:
        blocked[:] = True
        blocked[:, list(rules.allow)] = False
    blocked[:, list(rules.exclude)] = True
    if not rules.keep_seen:
        for row, seen in zip(blocked, inputs, strict=True):
            row[seen] = True
    return Limits(
        blocked=torch.from_numpy(blocked).to(device),
        counts=torch.tensor(counts, dtype=torch.int64, device=device),
        groups=None if rules.groups is None else torch.from_numpy(rules.groups).to(device),
        max_per_group=rules.max_per_group,
        min_score=rules.min_score,
    )
