"""EASE: every item predicted from all others by ridge regression (Steck, WWW 2019). Its settings are one number.

Where the items are too many for their Gram matrix to be inverted, each is regressed on its own nearest neighbours
alone, whose Gram matrix is made of the strongest entries of each row (after Steck's Markov random fields, 2019).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.errors import BadSetting
from fansrec.models.linear.cooccurrence import Cooccurrence
from fansrec.models.linear.item_weights import DenseWeights, ItemToItem, Table, kept, prune, shares, strongest

REGRESSIONS_AT_ONCE = 64


@dataclass(frozen=True)
class EaseConfig:
    category_starts: tuple[int, ...]
    regularization: float = 100.0  # lambda
    neighbours: int = 0  # weights kept for each item; 0: all, or 200 where there are more than `dense_items` items
    dense_items: int = 15_000  # up to so many items the regression is exact
    predictors: int = 256  # beyond: so many neighbours predict an item

    @property
    def width(self) -> int | None:
        return kept(self.category_starts[-1], self.neighbours, self.dense_items)

    def __post_init__(self) -> None:
        _ = self.width  # refuses what makes no sense
        for name in ("regularization", "predictors"):
            if getattr(self, name) <= 0:
                raise BadSetting(f"{name} is {getattr(self, name)}; it must be above 0")


class Ease(ItemToItem):
    name: ClassVar[str] = "ease"
    title: ClassVar[str] = "EASE"
    search: ClassVar[dict[str, tuple[float, ...]]] = {
        "regularization": (10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0)
    }

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """List i is `items[offsets[i]:offsets[i + 1]]`."""
        together = Cooccurrence(items, offsets, self.config.category_starts[-1])
        self.weights.popularity = shares(together.popularity)
        if isinstance(self.weights, DenseWeights):
            self.weights.matrix = exact(together, self.config.regularization)
        elif len(together) <= self.config.dense_items:
            self.weights.learn(prune(exact(together, self.config.regularization), self.weights.width))
        else:
            self.weights.learn(self._from_neighbours(together, self.weights.width))

    def _from_neighbours(self, together: Cooccurrence, width: int) -> Table:
        """Regress item by item, then keep the strongest weights that go out from each."""
        near = together.nearest(2 * self.config.predictors)
        predictors = near.items[:, : self.config.predictors].long()
        weights = regress(near, predictors, together.lengths(), self.config.regularization)
        predicted = torch.arange(len(together))[:, None].expand_as(predictors)
        return strongest(predictors.flatten(), predicted.flatten(), weights.flatten(), len(together), width)


def exact(together: Cooccurrence, regularization: float) -> Tensor:
    """B = -P / diag(P) by columns with a diagonal of 0, where P = (G + lambda I)^-1."""
    inverse = inverted(together.gram().to(fastest()), regularization)
    return inverse.div_(-inverse.diagonal().clone()).fill_diagonal_(0).cpu()


def fastest() -> torch.device:
    """Where to invert: a GPU does in a second what takes a CPU a minute."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def inverted(gram: Tensor, regularization: float) -> Tensor:
    """(G + lambda I)^-1; G is overwritten."""
    gram.diagonal().add_(regularization)
    with _solvable(regularization), _one_thread():
        torch.linalg.cholesky(gram, out=gram)
        return torch.cholesky_inverse(gram).T  # symmetric, but laid out by columns


def regress(near: Table, predictors: Tensor, lengths: Tensor, regularization: float) -> Tensor:
    """(M, m): the weight of each of an item's predictors, the first m of its neighbours in `near`."""
    weights = torch.empty(predictors.shape)
    among = Among(near, lengths, predictors.shape[1])
    for first in range(0, len(predictors), REGRESSIONS_AT_ONCE):
        some = slice(first, first + REGRESSIONS_AT_ONCE)
        grams = torch.stack([among.gram(chosen) for chosen in predictors[some]])
        grams.diagonal(dim1=1, dim2=2).add_(regularization)
        with_item = near.weights[some, : predictors.shape[1]] * lengths[predictors[some]] * lengths[some, None]
        with _solvable(regularization):
            weights[some] = torch.linalg.solve(grams, with_item)
    return weights


class Among:
    """The Gram matrix of m items, looked up in the nearest neighbours of each; what is not there counts as 0."""

    def __init__(self, near: Table, lengths: Tensor, count: int) -> None:
        self.near, self.lengths, self.count = near, lengths, count
        self.places = torch.full((len(lengths),), count)  # of the m items; all others share a place too many

    def gram(self, chosen: Tensor) -> Tensor:  # (m,) -> (m, m)
        self.places[chosen] = torch.arange(self.count)
        near, weights = self.near.items.index_select(0, chosen), self.near.weights.index_select(0, chosen)
        columns = self.places.index_select(0, near.flatten()).view(near.shape)
        cosines = torch.zeros(self.count, self.count + 1).scatter_(1, columns, weights)[:, :-1]
        self.places[chosen] = self.count
        lengths = self.lengths[chosen]
        return torch.maximum(cosines, cosines.T).fill_diagonal_(1) * lengths * lengths[:, None]


@contextmanager
def _solvable(regularization: float) -> Iterator[None]:
    try:
        yield
    except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
        raise BadSetting(f"regularization {regularization} is too small for these lists; give a larger one") from error


@contextmanager
def _one_thread() -> Iterator[None]:
    """Two threads inverting a matrix wait for each other: 8 s instead of 0.6 s for 4,000 items on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
