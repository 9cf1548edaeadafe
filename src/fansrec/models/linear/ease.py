"""EASE: every item predicted from all others by ridge regression (Steck, WWW 2019). It has a single parameter.

If there are too many items to invert their Gram matrix, the regression is approximated (neighbor_regression.py).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.errors import BadSetting
from fansrec.models.linear.cooccurrence import Cooccurrence
from fansrec.models.linear.item_weights import ItemToItem, PrunedWeights, shares
from fansrec.models.linear.neighbor_regression import approximate
from fansrec.models.linear.pair_sums import PairSums


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
            sums = PairSums(items, offsets, len(together), alpha=1.0)
            self.weights.assign(approximate(sums, self.config, self.weights.width))
        else:
            self.weights.assign_matrix(exact(together, self.config.regularization))


def exact(together: Cooccurrence, regularization: float) -> Tensor:
    """Return B (M, M): -P / diag(P) by columns with a diagonal of 0, where P = (G + lambda I)^-1."""
    inverse = inverted(together.gram().to(fastest()), regularization)
    return inverse.div_(-inverse.diagonal().clone()).fill_diagonal_(0).cpu()


def fastest() -> torch.device:
    """Return the device for an inversion: a second on a GPU takes a minute on a CPU."""
    only_cpu = os.environ.get("ACCELERATE_USE_CPU") == "true"  # as training does without a GPU
    return torch.device("cuda" if torch.cuda.is_available() and not only_cpu else "cpu")


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


@contextmanager
def _solvable(regularization: float) -> Iterator[None]:
    try:
        yield
    except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
        raise BadSetting(f"regularization {regularization} is too small for these lists; give a larger one") from error
