"""The token indices of a model: its items and the special tokens. Needs no torch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SPECIALS = 3  # special tokens of a sequence: CLS, SEP and SEP


@dataclass(frozen=True)
class Alphabet:
    """Token indices: items are 0 to `items` - 1, special tokens follow; categories are 0 to `categories` - 1."""

    items: int
    pad: int
    mask: int
    cls: int
    sep: int
    size: int  # number of all tokens
    categories: int
    no_category: int  # the PAD of the categories, which masked items and special tokens have

    @classmethod
    def of(cls, category_starts: Sequence[int] | NDArray[np.int64]) -> "Alphabet":
        items, categories = int(category_starts[-1]), len(category_starts) - 1
        pad, mask, start, sep, size = range(items, items + 5)
        return cls(items, pad, mask, start, sep, size, categories, no_category=categories)


def token_categories(category_starts: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the category of every token: that of an item, and none for PAD, MASK, CLS and SEP."""
    categories, alphabet = len(category_starts) - 1, Alphabet.of(category_starts)
    sizes = [*np.diff(category_starts), alphabet.size - alphabet.items]
    return np.repeat([*range(categories), alphabet.no_category], sizes)
