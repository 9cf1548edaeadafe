"""What the answers are made of: how much of the catalogue they reach, and how many categories one answer mixes."""

import numpy as np
from numpy.typing import NDArray


def coverage(answers: NDArray[np.int64], items: int) -> float:
    """The share of a catalogue of `items` that stands in at least one answer; -1 is no item."""
    return len(np.unique(answers[answers >= 0])) / items


def distinct_categories(answers: NDArray[np.int64], categories: NDArray[np.int64]) -> NDArray[np.int64]:
    """(lists,): how many different categories each answer has; `categories` gives that of every item."""
    rows = np.sort(np.where(answers >= 0, categories[answers], -1), axis=1)
    starts = np.diff(rows, axis=1, prepend=-1) > 0  # sorted, so a rise begins another category
    return np.asarray(starts.sum(1))
