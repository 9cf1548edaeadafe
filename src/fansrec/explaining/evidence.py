"""What the parts of a model say for some items after one input: terms of their scores, input items and lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
Columns = NDArray[np.signedinteger[Any]]
Lists = list[tuple[int, float, int]]  # list index, similarity from 0 to 1, number of input items in the list


@dataclass(frozen=True)
class Input:
    """A list to continue, of D distinct items."""

    given: Indices
    distinct: Indices  # (D,) in ascending order
    age: Indices  # (D,) distance of the last position of each from the end of the list

    @staticmethod
    def of(given: Indices) -> "Input":
        return Input(given, *np.unique(given[::-1], return_index=True))


@dataclass(frozen=True)
class Evidence:
    """Evidence of one part, or of all of them, for K items after an input of D distinct items."""

    terms: dict[str, Floats]  # (K,) of each part that was computed, in units of the score
    by_input: Floats  # (K, D): the positive terms, divided among the input items that add to them
    lists: Sequence[Lists]  # (K) the most similar lists that contain the item


def divided(terms: Floats, supports: Floats) -> Floats:
    """Return the terms (K,) divided among the input items in proportion to their supports (K, D)."""
    totals = supports.sum(1)
    divided: Floats = supports * (terms / np.where(totals > 0, totals, 1))[:, None]
    return divided


def columns_of(items: Indices, vocabulary: int) -> Columns:
    """Return a table (M,) from an item index to its column among `items`; -1 for others."""
    table: Columns = np.full(vocabulary, -1, np.int16 if len(items) < 1 << 15 else np.int32)  # to stay in the cache
    table[items] = np.arange(len(items))
    return table
