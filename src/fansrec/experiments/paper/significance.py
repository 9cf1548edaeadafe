"""Whether a difference between systems is more than the luck of these test lists."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FLIPS = 10_000
RESAMPLES = 1_000
LEVEL = 0.05
SEED = 0
AT_ONCE = 1 << 22  # signs or list numbers held in memory
ROUNDING = 1e-12


def p_values(differences: Floats) -> Floats:
    """(tests,) from (tests, lists): the paired sign-flip permutation test of each row, two-sided.

    If two systems were alike, each list's difference could as well have the other sign: how often is the sum then as
    far from 0 as it is? A list that does not count at a metric has the difference 0, which changes nothing.
    """
    random, lists = np.random.default_rng(SEED), differences.shape[1]
    seen = np.abs(differences.sum(1))
    reached = np.zeros(len(differences))
    step = max(1, AT_ONCE // max(1, lists))
    for first in range(0, FLIPS, step):
        heads = random.integers(0, 2, (min(step, FLIPS - first), lists), dtype=np.int8)
        reached += (np.abs((2.0 * heads - 1) @ differences.T) >= seen - ROUNDING).sum(0)
    return np.asarray((1 + reached) / (1 + FLIPS))


def together(differences: Sequence[Floats]) -> Floats:
    """(lists,): several metrics as one: each is scaled so that its sum is a z-score, and all are added."""
    norms = [float(np.sqrt((one**2).sum())) for one in differences]
    parts = [one / norm for one, norm in zip(differences, norms, strict=True) if norm > 0]
    return np.asarray(sum(parts)) if parts else np.zeros_like(differences[0])


def means(values: Floats) -> Floats:
    """(…) from (…, lists): NaN is a list that does not count, and the mean where none does."""
    counts = (~np.isnan(values)).sum(-1)
    return np.where(counts > 0, np.nansum(values, -1) / np.maximum(counts, 1), np.nan)


def resampled_means(values: Floats) -> Floats:
    """(resamples, …) from (…, lists): means over lists drawn with replacement; NaN is a list that does not count."""
    lists = values.shape[-1]
    flat = values.reshape(-1, lists)
    counts = ~np.isnan(flat)
    sums = np.where(counts, flat, 0.0)
    random = np.random.default_rng(SEED)
    means = []
    step = max(1, AT_ONCE // lists)
    for first in range(0, RESAMPLES, step):
        drawn = random.multinomial(lists, np.full(lists, 1 / lists), min(step, RESAMPLES - first)).astype(np.float64)
        means.append((drawn @ sums.T) / np.maximum(drawn @ counts.T, 1))
    return np.concatenate(means).reshape(RESAMPLES, *values.shape[:-1])
