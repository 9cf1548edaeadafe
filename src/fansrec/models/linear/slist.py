"""SLIST: the next items predicted from the previous ones by ridge regression (Choi et al., WWW 2021).

Two linear models in one. The first is EASE: every item from the others of its list (X from X). The second predicts
forward: every list is split after each of its items, and the items after a split (T) are predicted from those before it
(S), an item weighing exp(-distance from the split / decay). One matrix B serves both:

    alpha |X - XB|^2 + (1 - alpha) |T - SB|^2 + lambda |B|^2,  no diagonal entry of B above `diagonal`
    B = P (alpha X'X + (1 - alpha) S'T) - P diag(mu),  P = (alpha X'X + (1 - alpha) S'S + lambda I)^-1

S and T are never stored. Over all splits, two positions of a list `gap` apart add gap exp(-(gap - 1) / decay) to S'T,
and exp(-gap / decay) times a geometric series to S'S. When a list is continued, its last items weigh most.

Differences: all splits of a list together count as one list, however long it is (a row of S is divided by the root of
their number); a repeated item weighs the sum of its positions, in S and T; lists have no dates, so old ones do not
count less. There is one decay for S and T, and another for the input.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.errors import BadSetting
from fansrec.models.config import POSITIVE, setting
from fansrec.models.contract import Inputs
from fansrec.models.linear.cooccurrence import Cooccurrence
from fansrec.models.linear.ease import fastest, inverted
from fansrec.models.linear.item_weights import ItemToItem, ItemWeightsConfig, shares


@dataclass(frozen=True)
class SlistConfig(ItemWeightsConfig):
    """More than `dense_items` items are refused."""

    regularization: float = setting(50.0, POSITIVE)  # lambda
    alpha: float = setting(0.5, "must be from 0 to 1")  # weight of the EASE part
    diagonal: float = setting(0.0, "must be from 0 to 1")  # largest weight of an item for itself; 1: no limit
    decay: float = setting(30.0, POSITIVE)  # in positions
    input_decay: float = setting(20.0, POSITIVE)  # in positions

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.items > self.dense_items:
            raise BadSetting(
                f"slist inverts a matrix of all {self.items:,} items, more than dense_items={self.dense_items}; "
                f"use ease, or set dense_items if there is enough memory"
            )


class Slist(ItemToItem):
    name: ClassVar[str] = "slist"
    title: ClassVar[str] = "SLIST"
    search: ClassVar[dict[str, tuple[float, ...]]] = {
        "alpha": (0.2, 0.5),
        "diagonal": (0.0, 1.0),
        "regularization": (30.0, 100.0),
    }

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Solve the regression for the lists `items[offsets[i]:offsets[i + 1]]`."""
        config = self.config
        together = Cooccurrence(items, offsets, config.items)
        self.weights.popularity = shares(together.popularity)
        within = together.gram().mul_(config.alpha)
        across = within.clone()
        add_splits(within, across, items, offsets, config.decay, 1 - config.alpha)
        self.weights.assign_matrix(solve(within, across, config.regularization, config.diagonal))

    def score_next(self, inputs: Inputs) -> Tensor:
        """Return the scores (B, M) of the next item."""
        scores: Tensor = self.weights(inputs, recency(inputs, self.config.input_decay))
        return scores


def recency(inputs: Inputs, decay: float) -> Tensor:
    """Return the factor of each item of the inputs, one input after the other: 1 for the last, less before it."""
    return torch.from_numpy(np.concatenate([np.exp(np.arange(1 - len(items), 1) / decay) for items in inputs])).float()


def solve(within: Tensor, across: Tensor, regularization: float, diagonal: float) -> Tensor:
    """Return B (M, M) from alpha X'X + (1 - alpha) S'S, which is overwritten, and alpha X'X + (1 - alpha) S'T."""
    inverse = inverted(within.to(fastest()), regularization)
    weights = inverse @ across.to(inverse.device)
    over = (weights.diagonal() - diagonal).clamp(min=0) / inverse.diagonal()
    weights -= inverse.mul_(over)
    return weights.fill_diagonal_(0).cpu()  # items of the input are not predicted again


def add_splits(
    within: Tensor, across: Tensor, items: NDArray[np.int32], offsets: NDArray[np.int64], decay: float, share: float
) -> None:
    """Add `share` times S'S to `within` and `share` times S'T to `across`, one gap after the other."""
    lengths = np.diff(offsets)
    splits = np.repeat(lengths - 1, lengths)  # of the list of each position
    after = np.repeat(offsets[1:], lengths) - 1 - np.arange(len(items))  # splits after each position
    weight = share / np.maximum(splits, 1)
    # Of two positions, the later one determines how many splits come after both; each is one step further away.
    both = weight * np.expm1(-2 * after / decay) / np.expm1(-2 / decay)
    indices = torch.from_numpy(items.astype(np.int64))
    _add(within, indices, indices, both)
    for gap in range(1, int(lengths.max(initial=0))):
        first = np.flatnonzero(after >= gap)
        former, latter = indices[first], indices[first + gap]
        _add(across, former, latter, weight[first] * gap * np.exp((1 - gap) / decay))
        weights = both[first + gap] * np.exp(-gap / decay)
        _add(within, former, latter, weights)
        _add(within, latter, former, weights)


def _add(matrix: Tensor, rows: Tensor, columns: Tensor, weights: NDArray[np.float64]) -> None:
    matrix.view(-1).index_add_(0, rows * len(matrix) + columns, torch.from_numpy(weights).float())
