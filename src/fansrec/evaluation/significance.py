"""Whether a difference between systems is more than chance: paired permutation tests and bootstrap means over lists."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fansrec.evaluation.bootstrap import RESAMPLES, SEED

Floats = NDArray[np.float64]

PERMUTATIONS = 10_000
ALPHA = 0.05
MAX_CHUNK = 1 << 22  # signs or counts held in memory at once
ROUNDING = 1e-12


def paired_p_values(differences: Floats) -> Floats:
    """Return two-sided p-values of the paired sign-flip permutation test, shape (tests,), from (tests, lists).

    If two systems were equally good, the difference of each list could as well have the other sign; the p-value is the
    share of random signs whose sum is at least as far from 0. A list that does not count has the difference 0.
    """
    random, lists = np.random.default_rng(SEED), differences.shape[1]
    observed = np.abs(differences.sum(1))
    exceeded = np.zeros(len(differences))
    step = max(1, MAX_CHUNK // max(1, lists))
    for first in range(0, PERMUTATIONS, step):
        heads = random.integers(0, 2, (min(step, PERMUTATIONS - first), lists), dtype=np.int8)
        exceeded += (np.abs((2.0 * heads - 1) @ differences.T) >= observed - ROUNDING).sum(0)
    return np.asarray((1 + exceeded) / (1 + PERMUTATIONS))


def combine_metrics(differences: Sequence[Floats]) -> Floats:
    """Return the sum of several metrics' differences, shape (lists,), each scaled so that its own sum is a z-score."""
    norms = [float(np.sqrt((one**2).sum())) for one in differences]
    parts = [one / norm for one, norm in zip(differences, norms, strict=True) if norm > 0]
    return np.asarray(sum(parts)) if parts else np.zeros_like(differences[0])


def list_means(values: Floats) -> Floats:
    """Return means over the last axis, shape (…) from (…, lists); NaN marks lists that do not count, and no lists."""
    counts = (~np.isnan(values)).sum(-1)
    return np.where(counts > 0, np.nansum(values, -1) / np.maximum(counts, 1), np.nan)


def resampled_means(values: Floats) -> Floats:
    """Return bootstrap means, shape (resamples, …) from (…, lists); NaN marks lists that do not count."""
    lists = values.shape[-1]
    flat = values.reshape(-1, lists)
    counts = ~np.isnan(flat)
    sums = np.where(counts, flat, 0.0)
    random = np.random.default_rng(SEED)
    means = []
    step = max(1, MAX_CHUNK // lists)
    for first in range(0, RESAMPLES, step):
        drawn = random.multinomial(lists, np.full(lists, 1 / lists), min(step, RESAMPLES - first)).astype(np.float64)
        means.append((drawn @ sums.T) / np.maximum(drawn @ counts.T, 1))
    return np.concatenate(means).reshape(RESAMPLES, *values.shape[:-1])
