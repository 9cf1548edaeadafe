"""EASE: every item predicted from all others by ridge regression (Steck, WWW 2019). It has a single parameter.

If there are too many items to invert their Gram matrix, each is regressed on its nearest neighbors only. Their Gram
matrix consists of the strongest entries of each row (after Steck's Markov random fields, 2019).
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
from fansrec.models.config import POSITIVE, setting
from fansrec.models.linear.cooccurrence import Cooccurrence
from fansrec.models.linear.item_weights import (
    ItemToItem,
    ItemWeightsConfig,
    PrunedWeights,
    Table,
    shares,
    strongest,
)

REGRESSIONS_AT_ONCE = 64


@dataclass(frozen=True)
class EaseConfig(ItemWeightsConfig):
    """The regression is exact for up to `dense_items` items."""

    regularization: float = setting(100.0, POSITIVE)  # lambda
    predictors: int = setting(256, POSITIVE)  # neighbors that predict an item if there are more items


class Ease(ItemToItem):
    name: ClassVar[str] = "ease"
    title: ClassVar[str] = "EASE"
    search: ClassVar[dict[str, tuple[float, ...]]] = {
        "regularization": (10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0)
    }

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Solve the regression for the lists `items[offsets[i]:offsets[i + 1]]`."""
        together = Cooccurrence(items, offsets, self.config.items)
        self.weights.popularity = shares(together.popularity)
        if isinstance(self.weights, PrunedWeights) and len(together) > self.config.dense_items:
            self.weights.assign(self._from_neighbors(together, self.weights.width))
        else:
            self.weights.assign_matrix(exact(together, self.config.regularization))

    def _from_neighbors(self, together: Cooccurrence, width: int) -> Table:
        """Regress each item on its neighbors, then keep the strongest weights from each item."""
        near = together.nearest(2 * self.config.predictors)
        predictors = near.items[:, : self.config.predictors].long()
        weights = regress(near, predictors, together.norms(), self.config.regularization)
        predicted = torch.arange(len(together))[:, None].expand_as(predictors)
        return strongest(predictors.flatten(), predicted.flatten(), weights.flatten(), len(together), width)


def exact(together: Cooccurrence, regularization: float) -> Tensor:
    """Return B (M, M): -P / diag(P) by columns with a diagonal of 0, where P = (G + lambda I)^-1."""
    inverse = inverted(together.gram().to(fastest()), regularization)
    return inverse.div_(-inverse.diagonal().clone()).fill_diagonal_(0).cpu()


def fastest() -> torch.device:
    """Return the device for an inversion: a second on a GPU takes a minute on a CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def inverted(gram: Tensor, regularization: float) -> Tensor:
    """Return (G + lambda I)^-1; G is overwritten."""
    gram.diagonal().add_(regularization)
    # Two threads inverting a matrix wait for each other: 8 s instead of 0.6 s for 4,000 items on a busy machine.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with _solvable(regularization):
            torch.linalg.cholesky(gram, out=gram)
            return torch.cholesky_inverse(gram).T  # symmetric, but stored by columns
    finally:
        torch.set_num_threads(threads)


def regress(near: Table, predictors: Tensor, norms: Tensor, regularization: float) -> Tensor:
    """Return the weight (M, m) of each of an item's predictors, the first m of its neighbors in `near`."""
    weights = torch.empty(predictors.shape)
    columns = torch.full((len(norms),), predictors.shape[1])
    for first in range(0, len(predictors), REGRESSIONS_AT_ONCE):
        some = slice(first, first + REGRESSIONS_AT_ONCE)
        grams = torch.stack([_gram(near, norms, chosen, columns) for chosen in predictors[some]])
        grams.diagonal(dim1=1, dim2=2).add_(regularization)
        with_item = near.weights[some, : predictors.shape[1]] * norms[predictors[some]] * norms[some, None]
        with _solvable(regularization):
            weights[some] = torch.linalg.solve(grams, with_item)
    return weights


def _gram(near: Table, norms: Tensor, chosen: Tensor, columns: Tensor) -> Tensor:  # (m, m)
    """Return the Gram matrix of m chosen items, read from the nearest neighbors of each; missing entries are 0.

    `columns` (M,) is m for every item, before and after: the column that all other items share.
    """
    count = len(chosen)
    columns[chosen] = torch.arange(count)
    near_items, weights = near.items.index_select(0, chosen), near.weights.index_select(0, chosen)
    own_columns = columns.index_select(0, near_items.flatten()).view(near_items.shape)
    cosines = torch.zeros(count, count + 1).scatter_(1, own_columns, weights)[:, :-1]
    columns[chosen] = count
    return torch.maximum(cosines, cosines.T).fill_diagonal_(1) * norms[chosen] * norms[chosen, None]


@contextmanager
def _solvable(regularization: float) -> Iterator[None]:
    try:
        yield
    except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
        raise BadSetting(f"regularization {regularization} is too small for these lists; give a larger one") from error
