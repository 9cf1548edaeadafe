"""SLIST: the next items predicted from the previous ones by ridge regression (Choi et al., WWW 2021).

Two linear models in one. The first is EASE: every item from the others of its list (X from X). The second predicts
forward: every list is split after each of its items, and the items after a split (T) are predicted from those before it
(S), an item weighing exp(-distance from the split / decay). One matrix B serves both:

    alpha |X - XB|^2 + (1 - alpha) |T - SB|^2 + lambda |B|^2,  no diagonal entry of B above `diagonal`
    B = P (alpha X'X + (1 - alpha) S'T) - P diag(mu),  P = (alpha X'X + (1 - alpha) S'S + lambda I)^-1

When a list is continued, its last items weigh most. If there are too many items to invert their matrix, the regression
is approximated (neighbor_regression.py).

Differences: all splits of a list together count as one list, however long it is (a row of S is divided by the root of
their number); a repeated item weighs the sum of its positions, in S and T; lists have no dates, so old ones do not
count less. There is one decay for S and T, and another for the input.
"""

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.models.contract import Inputs
from fansrec.models.linear.ease import fastest, inverted
from fansrec.models.linear.item_weights import ItemToItem, PrunedWeights, shares
from fansrec.models.linear.neighbor_regression import approximate
from fansrec.models.linear.pair_sums import PairSums
from fansrec.models.linear.popularity import list_counts


class Slist(ItemToItem):
    name: ClassVar[str] = "slist"
    title: ClassVar[str] = "SLIST"
    search: ClassVar[dict[str, tuple[float, ...]]] = {
        "alpha": (0.2, 0.5),
        "diagonal": (0.0, 1.0),
        "regularization": (30.0, 100.0),
        "input_decay": (20.0, 5.0, 1e6),  # the last one: none
    }
    scoring: ClassVar[tuple[str, ...]] = ("input_decay",)

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Solve the regression for the lists `items[offsets[i]:offsets[i + 1]]`."""
        config = self.config
        sums = PairSums(items, offsets, config.items, config.alpha, config.decay)
        self.weights.popularity = shares(list_counts(items, offsets, config.items))
        if isinstance(self.weights, PrunedWeights) and config.items > config.dense_items:
            self.weights.assign(approximate(sums, config, self.weights.width, config.diagonal))
        else:
            self.weights.assign_matrix(solve(*sums.dense(), config.regularization, config.diagonal))

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
