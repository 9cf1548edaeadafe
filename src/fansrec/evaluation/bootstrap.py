"""How far a metric would differ on other test lists: percentile bootstrap intervals over resampled lists."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 1000
LEVEL = 0.95
SEED = 0
DRAWS_AT_ONCE = 1 << 20  # list indices in memory


def interval(values: ArrayLike, weights: ArrayLike | None = None) -> tuple[float, float] | None:
    """Return the 95% interval of the mean of `values` (lists,), or of sum(values) / sum(weights); None without lists.

    The seed is fixed, so every metric over the same lists resamples the same ones and intervals can be compared.
    """
    numerators = np.asarray(values, dtype=np.float64)
    denominators = np.ones_like(numerators) if weights is None else np.asarray(weights, dtype=np.float64)
    if not denominators.any():
        return None
    means = _resampled(np.stack([numerators, denominators], 1))
    low, high = np.quantile(means[np.isfinite(means)], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def interval_list(values: ArrayLike, weights: ArrayLike | None = None) -> list[float] | None:
    """Return `interval` as JSON has it."""
    bounds = interval(values, weights)
    return None if bounds is None else list(bounds)


def ratio_of_sums(part: NDArray[Any], whole: NDArray[Any]) -> float | None:
    """Return sum(part) / sum(whole), None if nothing counts."""
    return float(part.sum() / whole.sum()) if whole.any() else None


def _resampled(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first column's sum over the second's in each resample, (RESAMPLES,); NaN where the second is 0."""
    random = np.random.default_rng(SEED)
    lists = len(columns)
    step = max(1, DRAWS_AT_ONCE // lists)
    sums = [
        columns[random.integers(0, lists, (min(step, RESAMPLES - first), lists))].sum(1)
        for first in range(0, RESAMPLES, step)
    ]
    numerators, denominators = np.concatenate(sums).T
    return np.asarray(np.divide(numerators, denominators, out=np.full(RESAMPLES, np.nan), where=denominators > 0))
