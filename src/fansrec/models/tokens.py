"""Lists laid out as the tokens models read, padded to a rectangle.

FANS reads CLS input SEP target SEP (`lay_out`), the other models one list without parts (`in_a_row`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Numbers = NDArray[np.integer]

SPECIALS = 3  # CLS, SEP and SEP stand in every sequence


@dataclass(frozen=True)
class Alphabet:
    """Token numbers: items are 0 to `items` - 1, categories 0 to `categories` - 1, and the specials come after."""

    items: int
    categories: int

    @classmethod
    def of(cls, category_starts: Sequence[int]) -> "Alphabet":
        return cls(items=category_starts[-1], categories=len(category_starts) - 1)

    @property
    def pad(self) -> int:
        return self.items

    @property
    def mask(self) -> int:
        return self.items + 1

    @property
    def cls(self) -> int:
        return self.items + 2

    @property
    def sep(self) -> int:
        return self.items + 3

    @property
    def size(self) -> int:
        return self.items + 4

    @property
    def no_category(self) -> int:
        """The PAD of the categories: masked items and special tokens carry it."""
        return self.categories


@dataclass(frozen=True)
class Tokens:
    """B sequences of T tokens; the position of a token is its column."""

    items: Tensor  # (B, T) int64
    categories: Tensor  # (B, T) int64
    segments: Tensor  # (B, T) int64: 0 up to the first SEP, 1 after it
    real: Tensor  # (B, T) bool: False is padding

    def rows(self, chosen: NDArray[np.bool_]) -> "Tokens":
        """Of these sequences alone; all of them, without a copy, where all are chosen."""
        which = slice(None) if chosen.all() else torch.from_numpy(chosen)
        return Tokens(self.items[which], self.categories[which], self.segments[which], self.real[which])

    def to(self, device: torch.device | str) -> "Tokens":
        moved = {f.name: getattr(self, f.name).to(device, non_blocking=True) for f in fields(self)}
        return replace(self, **moved)


@dataclass(frozen=True)
class Batch:
    """Lists to learn from: what is shown, where an item is to be told, and which one it is.

    Lists of like length share a chunk, to save padding.
    """

    chunks: Sequence[Tokens]
    places: Tensor  # (P,) int64: at which of all tokens, chunk after chunk, an item is to be told
    labels: Tensor  # (P,) int64: these items
    lists: int  # in the whole batch, over all processes
    positions: int  # where an item is to be told in the whole batch, over all processes

    def to(self, device: torch.device | str) -> "Batch":
        return replace(
            self,
            chunks=[chunk.to(device) for chunk in self.chunks],
            places=self.places.to(device, non_blocking=True),
            labels=self.labels.to(device, non_blocking=True),
        )


@dataclass(frozen=True)
class Layout:
    """Where the tokens of a batch stand, as arrays of shape (B, T)."""

    columns: NDArray[np.int64]  # (1, T)
    input_lengths: NDArray[np.int64]  # (B, 1)
    target_lengths: NDArray[np.int64]  # (B, 1)

    @property
    def in_input(self) -> NDArray[np.bool_]:
        return (self.columns >= 1) & (self.columns <= self.input_lengths)

    @property
    def in_target(self) -> NDArray[np.bool_]:
        return (self.columns >= self.input_lengths + 2) & (self.columns < self.end)

    @property
    def target_column(self) -> NDArray[np.int64]:
        """The place of a column inside the target, counted from 0."""
        return self.columns - self.input_lengths - 2

    @property
    def end(self) -> NDArray[np.int64]:
        """The column of the last SEP."""
        return self.input_lengths + self.target_lengths + 2


def lay_out(input_lengths: NDArray[np.int64], target_lengths: NDArray[np.int64]) -> Layout:
    longest = int((input_lengths + target_lengths).max(initial=0)) + SPECIALS
    return Layout(np.arange(longest)[None], input_lengths[:, None], target_lengths[:, None])


def fill(layout: Layout, input_items: Numbers | int, target: Numbers | int, alphabet: Alphabet) -> NDArray[np.int64]:
    """The item tokens (B, T): the flat `input_items` and `target` items, list after list, in their places."""
    items = np.full(np.broadcast_shapes(layout.columns.shape, layout.end.shape), alphabet.pad)
    items[:, 0] = alphabet.cls
    items[layout.in_input] = input_items
    items[layout.in_target] = target
    items[(layout.columns == layout.input_lengths + 1) | (layout.columns == layout.end)] = alphabet.sep
    return items


def tokens_of(items: NDArray[np.int64], layout: Layout, categories_of: NDArray[np.int64]) -> Tokens:
    """Tokens from item tokens; `categories_of` gives the category of every token of the alphabet."""
    return Tokens(
        items=torch.from_numpy(items),
        categories=torch.from_numpy(categories_of[items]),
        segments=torch.from_numpy((layout.columns > layout.input_lengths + 1).astype(np.int64)),
        real=torch.from_numpy(layout.columns <= layout.end),
    )


def category_table(categories: NDArray[np.int64], alphabet: Alphabet) -> NDArray[np.int64]:
    """The category of every token: an item's own, and none for PAD, MASK, CLS and SEP."""
    return np.concatenate([categories, np.full(alphabet.size - alphabet.items, alphabet.no_category)])


def token_categories(category_starts: Sequence[int]) -> NDArray[np.int64]:
    """The same from where the categories start."""
    categories = np.repeat(np.arange(len(category_starts) - 1), np.diff(category_starts))
    return category_table(categories, Alphabet.of(category_starts))


def in_a_row(lengths: Numbers, items: Numbers | int, categories_of: NDArray[np.int64], alphabet: Alphabet) -> Tokens:
    """Lists without parts: the flat `items`, list after list, from column 0 on."""
    real = np.arange(int(lengths.max(initial=0)))[None] < lengths[:, None]
    tokens = np.full(real.shape, alphabet.pad)
    tokens[real] = items
    return Tokens(
        items=torch.from_numpy(tokens),
        categories=torch.from_numpy(categories_of[tokens]),
        segments=torch.zeros(real.shape, dtype=torch.int64),
        real=torch.from_numpy(real),
    )
