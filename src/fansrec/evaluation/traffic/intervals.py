"""Intervals of acceptance: Wilson's for a share of independent items, and a bootstrap over clients."""

import math
from statistics import NormalDist

import numpy as np

from fansrec.evaluation.bootstrap import LEVEL, RESAMPLES
from fansrec.evaluation.significance import Floats

Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
MAX_CHUNK = 1 << 22  # draws held in memory at once


def wilson(accepted: int, offered: int) -> list[float] | None:
    """Return the 95% interval of a share by Wilson's score; None if nothing was offered."""
    if not offered:
        return None
    share, z2 = accepted / offered, Z * Z / offered
    center = (share + z2 / 2) / (1 + z2)
    half = Z / (1 + z2) * math.sqrt(share * (1 - share) / offered + z2 / (4 * offered))
    return [max(0.0, center - half), min(1.0, center + half)]


def resampled_shares(table: Floats, numbers: Floats, random: np.random.Generator) -> Floats:
    """Return the share of accepted items of each model in each resample of the clients, (RESAMPLES, models).

    `table` has accepted and offered items by kind of client, (kinds, models, 2), and `numbers` how many clients are of
    each kind. NaN marks a model to which nothing was offered in a resample.
    """
    kinds, models, _ = table.shape
    step, flat, sums = max(1, MAX_CHUNK // max(1, kinds)), table.reshape(kinds, 2 * models), []
    for first in range(0, RESAMPLES, step):
        drawn = random.multinomial(int(numbers.sum()), numbers / numbers.sum(), min(step, RESAMPLES - first))
        sums.append(drawn.astype(np.float64) @ flat)
    totals = np.concatenate(sums).reshape(RESAMPLES, models, 2)
    shares = np.full((RESAMPLES, models), np.nan)
    np.divide(totals[..., 0], totals[..., 1], out=shares, where=totals[..., 1] > 0)
    return shares


def bounds(drawn: Floats) -> list[float] | None:
    """Return the 95% interval of resampled values, (RESAMPLES,); None if there are none."""
    valid = drawn[~np.isnan(drawn)]
    if not valid.size:
        return None
    return [float(bound) for bound in np.quantile(valid, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])]
