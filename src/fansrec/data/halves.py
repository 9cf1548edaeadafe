"""Where a list is cut: the input is what stands before its target, the second half."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def target_lengths(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """How many items at the end of lists of these lengths are the target: max(1, round(n / 2)), half to even."""
    return np.maximum(1, np.rint(np.asarray(lengths) / 2).astype(np.int64))
