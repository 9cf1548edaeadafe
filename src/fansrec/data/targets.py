"""The split of a list into input and target."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def target_lengths(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of trailing items that form the target of lists of these lengths: max(1, round(n / 2))."""
    return np.maximum(1, np.rint(np.asarray(lengths) / 2).astype(np.int64))
