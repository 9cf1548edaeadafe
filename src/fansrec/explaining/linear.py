"""Evidence of item-item weights: of the linear part of the hybrid model, and of linear models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.explaining.evidence import Evidence, Floats, Indices, Input, columns_of, divided
from fansrec.models.hybrid.config import FLOOR


@dataclass(frozen=True)
class LinearEvidence:
    """Item-item weights, and the decay of the input's items in positions."""

    arrays: Mapping[str, NDArray[Any]]
    vocabulary: int
    decay: float
    weight: float | None = None  # in the mixture of a hybrid model; None: the sums are the scores

    def __call__(self, input: Input, items: Indices) -> Evidence:
        """Return the evidence for `items` (K,) after an input."""
        given = input.given
        recency = np.exp(np.arange(1 - len(given), 1) / self.decay)
        weights = self._weights(given, items) * recency[:, None]  # (L, K)
        by_input = np.zeros((len(input.distinct), len(items)))
        np.add.at(by_input, np.searchsorted(input.distinct, given), weights)
        sums = by_input.sum(0)
        positive = np.maximum(sums, 0)
        if self.weight is not None:
            positive[(items[:, None] == input.distinct).any(1)] = 0
            positive = self.weight * np.log1p(positive / self._highest(given, recency) / FLOOR)
        terms = sums if self.weight is None else positive
        return Evidence({"linear": terms}, divided(positive, np.maximum(by_input.T, 0)), [[]] * len(items))

    def _weights(self, given: Indices, items: Indices) -> Floats:
        """Return the weights (L, K) from the input's items to `items`."""
        if "matrix" in self.arrays:
            return self.arrays["matrix"][given[:, None], items].astype(np.float64)
        columns = columns_of(items, self.vocabulary)[self.arrays["items"][given]]  # (L, width)
        rows, places = np.nonzero(columns >= 0)
        weights = np.zeros((len(given), len(items)))
        np.add.at(weights, (rows, columns[rows, places]), self.arrays["weights"][given[rows], places])
        return weights

    def _highest(self, given: Indices, recency: Floats) -> float:
        """Return the highest sum of all items but those of the input."""
        weights = self.arrays["weights"][given] * recency[:, None]
        sums = np.bincount(self.arrays["items"][given].ravel(), weights.ravel(), minlength=self.vocabulary)
        sums[given] = 0
        return max(float(sums.max(initial=0)), 1e-30)
