"""SLIST: the items to come predicted from those before by ridge regression (Choi et al., WWW 2021).

Two linear models in one. The first is EASE's: every item from the others of its list (X from X). The second goes
forward: every list is cut behind each of its items, and what comes after a cut (T) is predicted from what stands before
it (S), an item weighing exp(-distance from the cut / decay). One matrix B serves both:

    alpha |X - XB|^2 + (1 - alpha) |T - SB|^2 + lambda |B|^2,  no diagonal entry of B above `diagonal`
    B = P (alpha X'X + (1 - alpha) S'T) - P diag(mu),  P = (alpha X'X + (1 - alpha) S'S + lambda I)^-1

S and T are never written down. Over all cuts, two places of a list `gap` apart add gap exp(-(gap - 1) / decay) to S'T,
and exp(-gap / decay) times a geometric series to S'S. When a list is continued, its last items weigh most.

Departures: the cuts of a list together count as one list, however long it is (a row of S is divided by the root of
their number); a repeated item weighs what its places weigh together, in S and T; lists have no dates, so none counts
less for its age. One decay serves S and T, another the input.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.errors import BadSetting
from fansrec.models.linear.cooccurrence import Cooccurrence
from fansrec.models.linear.ease import fastest, inverted
from fansrec.models.linear.item_weights import DenseWeights, ItemToItem, kept, prune, shares

ABOVE_ZERO = ("regularization", "decay", "input_decay")


@dataclass(frozen=True)
class SlistConfig:
    category_starts: tuple[int, ...]
    regularization: float = 50.0  # lambda
    alpha: float = 0.5  # how much of it is EASE
    diagonal: float = 0.0  # at most so much does an item predict itself; 1: as much as it likes
    decay: float = 30.0  # in places
    input_decay: float = 20.0  # in places
    neighbours: int = 0  # weights kept for each item; 0: all
    dense_items: int = 15_000  # more cannot be regressed

    @property
    def width(self) -> int | None:
        return kept(self.category_starts[-1], self.neighbours, self.dense_items)

    def __post_init__(self) -> None:
        _ = self.width  # refuses what makes no sense
        if self.category_starts[-1] > self.dense_items:
            raise BadSetting(
                f"slist inverts a matrix of all {self.category_starts[-1]:,} items, more than dense_items="
                f"{self.dense_items}; use ease, or set dense_items if the memory is there"
            )
        for name in ABOVE_ZERO:
            if getattr(self, name) <= 0:
                raise BadSetting(f"{name} is {getattr(self, name)}; it must be above 0")
        for name in ("alpha", "diagonal"):
            if not 0 <= getattr(self, name) <= 1:
                raise BadSetting(f"{name} is {getattr(self, name)}; it must lie between 0 and 1")


class Slist(ItemToItem):
    name: ClassVar[str] = "slist"
    title: ClassVar[str] = "SLIST"
    search: ClassVar[dict[str, tuple[float, ...]]] = {
        "alpha": (0.2, 0.5),
        "diagonal": (0.0, 1.0),
        "regularization": (30.0, 100.0),
    }

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """List i is `items[offsets[i]:offsets[i + 1]]`."""
        config = self.config
        together = Cooccurrence(items, offsets, config.category_starts[-1])
        self.weights.popularity = shares(together.popularity)
        within = together.gram().mul_(config.alpha)
        across = within.clone()
        add_cuts(within, across, items, offsets, config.decay, 1 - config.alpha)
        weights = solve(within, across, config.regularization, config.diagonal)
        if isinstance(self.weights, DenseWeights):
            self.weights.matrix = weights
        else:
            self.weights.learn(prune(weights, self.weights.width))

    def score_next(self, inputs: Sequence[NDArray[np.int64]]) -> Tensor:
        scores: Tensor = self.weights(inputs, recency(inputs, self.config.input_decay))
        return scores


def recency(inputs: Sequence[NDArray[np.int64]], decay: float) -> Tensor:
    """How much each item of the inputs weighs, one input after the other: the last of each 1, those before less."""
    return torch.from_numpy(np.concatenate([np.exp(np.arange(1 - len(items), 1) / decay) for items in inputs])).float()


def solve(within: Tensor, across: Tensor, regularization: float, diagonal: float) -> Tensor:
    """B from (alpha X'X + (1 - alpha) S'S), which is overwritten, and (alpha X'X + (1 - alpha) S'T)."""
    inverse = inverted(within.to(fastest()), regularization)
    weights = inverse @ across.to(inverse.device)
    over = (weights.diagonal() - diagonal).clamp(min=0) / inverse.diagonal()
    weights -= inverse.mul_(over)
    return weights.fill_diagonal_(0).cpu()  # a list's own items are not for it to tell again


def add_cuts(
    within: Tensor, across: Tensor, items: NDArray[np.int32], offsets: NDArray[np.int64], decay: float, share: float
) -> None:
    """`share` of S'S to `within`, and of S'T to `across`, going from gap to gap."""
    lengths = np.diff(offsets)
    cuts = np.repeat(lengths - 1, lengths)  # of each place's list
    after = np.repeat(offsets[1:], lengths) - 1 - np.arange(len(items))  # of them, those that have the place before
    worth = share / np.maximum(cuts, 1)
    # Of two places, the later one says how many cuts have both before them; each such cut is a step further away.
    both = worth * np.expm1(-2 * after / decay) / np.expm1(-2 / decay)
    numbers = torch.from_numpy(items.astype(np.int64))
    _add(within, numbers, numbers, both)
    for gap in range(1, int(lengths.max(initial=0))):
        first = np.flatnonzero(after >= gap)
        former, latter = numbers[first], numbers[first + gap]
        _add(across, former, latter, worth[first] * gap * np.exp((1 - gap) / decay))
        weights = both[first + gap] * np.exp(-gap / decay)
        _add(within, former, latter, weights)
        _add(within, latter, former, weights)


def _add(matrix: Tensor, rows: Tensor, columns: Tensor, weights: NDArray[np.float64]) -> None:
    matrix.view(-1).index_add_(0, rows * len(matrix) + columns, torch.from_numpy(weights).float())
