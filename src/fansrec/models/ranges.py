"""Consecutive indices. Needs no torch."""

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


def ranges(starts: Indices, lengths: Indices) -> Indices:
    """Return the concatenated ranges from `starts[i]` to `starts[i] + lengths[i]` - 1."""
    before = np.cumsum(lengths) - lengths
    ranges: Indices = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return ranges
