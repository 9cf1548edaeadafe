"""How far a figure would move with other test lists: percentile intervals over lists drawn anew, with replacement."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 1000
LEVEL = 0.95
SEED = 0
DRAWS_AT_ONCE = 1 << 20  # list numbers held in memory


def interval(values: ArrayLike, weights: ArrayLike | None = None) -> tuple[float, float] | None:
    """The 95% interval of the mean of `values`, one a list, or of sum(values) / sum(weights); None if it has no lists.

    One seed draws the same lists for every figure over the same lists, so that intervals can be set side by side.
    """
    above = np.asarray(values, dtype=np.float64)
    below = np.ones_like(above) if weights is None else np.asarray(weights, dtype=np.float64)
    if not below.any():
        return None
    figures = _resampled(np.stack([above, below], 1))
    low, high = np.quantile(figures[np.isfinite(figures)], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _resampled(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """(RESAMPLES,): the first column's sum over the second's, in each drawing; NaN where the second is 0."""
    random = np.random.default_rng(SEED)
    lists = len(columns)
    step = max(1, DRAWS_AT_ONCE // lists)
    sums = [
        columns[random.integers(0, lists, (min(step, RESAMPLES - first), lists))].sum(1)
        for first in range(0, RESAMPLES, step)
    ]
    above, below = np.concatenate(sums).T
    return np.asarray(np.divide(above, below, out=np.full(RESAMPLES, np.nan), where=below > 0))
