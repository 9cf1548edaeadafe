"""How far a metric would differ on other test lists: percentile bootstrap intervals over resampled lists."""

from collections.abc import Sequence
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
    sums, totals = _resampled_sums(np.stack([numerators, denominators]))
    means = sums[totals > 0] / totals[totals > 0]
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def mean_intervals(values: Sequence[ArrayLike]) -> list[list[float] | None]:
    """Return `interval_list` of several metrics over the same lists, which are resampled once for all of them."""
    table = np.asarray(values, dtype=np.float64)
    if not table.size:
        return [None] * len(values)
    means = _resampled_sums(table) / table.shape[1]
    bounds = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1)
    return [*map(list, bounds.T.tolist())]


def interval_list(values: ArrayLike, weights: ArrayLike | None = None) -> list[float] | None:
    """Return `interval` as JSON has it."""
    bounds = interval(values, weights)
    return None if bounds is None else list(bounds)


def ratio_of_sums(part: NDArray[Any], whole: NDArray[Any]) -> float | None:
    """Return sum(part) / sum(whole), None if nothing counts."""
    return float(part.sum() / whole.sum()) if whole.any() else None


def _resampled_sums(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of each row, (rows, lists), in each resample of the lists, (rows, RESAMPLES)."""
    random = np.random.default_rng(SEED)
    lists = rows.shape[1]
    step = max(1, DRAWS_AT_ONCE // lists)
    sums = [rows @ _draw(random, min(step, RESAMPLES - first), lists) for first in range(0, RESAMPLES, step)]
    return np.concatenate(sums, axis=1)


def _draw(random: np.random.Generator, resamples: int, lists: int) -> NDArray[np.float64]:
    """Return how often each list is drawn in some resamples, (lists, resamples)."""
    drawn = random.integers(0, lists, (resamples, lists))
    cells = drawn * resamples + np.arange(resamples)[:, None]
    return np.bincount(cells.ravel(), minlength=lists * resamples).reshape(lists, resamples).astype(np.float64)
