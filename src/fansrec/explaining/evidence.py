"""What the parts of a model say for some items after one input: terms of their scores, input items and lists."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
Lists = list[tuple[int, float, int]]  # list index, similarity from 0 to 1, number of input items in the list


@dataclass(frozen=True)
class Evidence:
    """Evidence of one part, or of all of them, for K items after an input of D distinct items."""

    terms: dict[str, Floats]  # (K,) of each part that was computed, in units of the score
    by_input: Floats  # (K, D): the terms, divided among the input items that add to them
    lists: Sequence[Lists]  # (K) the most similar lists that contain the item


def divided(terms: Floats, supports: Floats) -> Floats:
    """Return the terms (K,) divided among the input items in proportion to their supports (K, D)."""
    totals = supports.sum(1)
    divided: Floats = supports * (terms / np.where(totals > 0, totals, 1))[:, None]
    return divided


def columns_of(items: Indices, vocabulary: int) -> Indices:
    """Return a table (M,) from an item index to its column among `items`; -1 for others."""
    table = np.full(vocabulary, -1, dtype=np.int64)
    table[items] = np.arange(len(items))
    return table
