"""Lists as sequences of tokens, padded to a rectangle.

FANS reads CLS input SEP target SEP (`lay_out`), the other models a list as one segment (`in_a_row`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.models.alphabet import SPECIALS, Alphabet

Indices = NDArray[np.integer]


@dataclass(frozen=True)
class Tokens:
    """B sequences of T tokens; the position of a token is its column."""

    items: Tensor  # (B, T) int64
    categories: Tensor  # (B, T) int64
    segments: Tensor  # (B, T) int64: 0 up to the first SEP, 1 after it
    real: Tensor  # (B, T) bool: False is padding

    def rows(self, chosen: NDArray[np.bool_]) -> "Tokens":
        """Return the sequences that are `chosen` (B,), without a copy if all are."""
        which = slice(None) if chosen.all() else torch.from_numpy(chosen)
        return Tokens(self.items[which], self.categories[which], self.segments[which], self.real[which])

    def to(self, device: torch.device | str) -> "Tokens":
        moved = {f.name: getattr(self, f.name).to(device, non_blocking=True) for f in fields(self)}
        return replace(self, **moved)


@dataclass(frozen=True)
class Batch:
    """Training lists: the tokens that are read, the label positions and their items.

    Lists of similar length share a chunk, to save padding.
    """

    chunks: Sequence[Tokens]
    label_positions: Tensor  # (P,) int64: their indices in the flattened tokens of all chunks
    labels: Tensor  # (P,) int64: items at these positions
    lists: int  # number of lists in the whole batch, over all processes
    positions: int  # number of label positions in the whole batch, over all processes

    def to(self, device: torch.device | str) -> "Batch":
        return replace(
            self,
            chunks=[chunk.to(device) for chunk in self.chunks],
            label_positions=self.label_positions.to(device, non_blocking=True),
            labels=self.labels.to(device, non_blocking=True),
        )


@dataclass(frozen=True)
class Layout:
    """The columns of the tokens of a batch; arrays broadcast to (B, T)."""

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
        """The position of a column inside the target, from 0."""
        return self.columns - self.input_lengths - 2

    @property
    def end(self) -> NDArray[np.int64]:
        """The column of the last SEP."""
        return self.input_lengths + self.target_lengths + 2


def lay_out(input_lengths: NDArray[np.int64], target_lengths: NDArray[np.int64]) -> Layout:
    """Return the layout of lists with inputs and targets of these lengths (B,)."""
    longest = int((input_lengths + target_lengths).max(initial=0)) + SPECIALS
    return Layout(np.arange(longest)[None], input_lengths[:, None], target_lengths[:, None])


def fill(layout: Layout, input_items: Indices | int, target: Indices | int, alphabet: Alphabet) -> NDArray[np.int64]:
    """Return item tokens (B, T) with the flat `input_items` and `target` items, list after list, in their columns."""
    items = np.full(np.broadcast_shapes(layout.columns.shape, layout.end.shape), alphabet.pad)
    items[:, 0] = alphabet.cls
    items[layout.in_input] = input_items
    items[layout.in_target] = target
    items[(layout.columns == layout.input_lengths + 1) | (layout.columns == layout.end)] = alphabet.sep
    return items


def tokens_of(items: NDArray[np.int64], layout: Layout, categories_of: NDArray[np.int64]) -> Tokens:
    """Return tokens for item tokens (B, T); `categories_of` has the category of every token of the alphabet."""
    return Tokens(
        items=torch.from_numpy(items),
        categories=torch.from_numpy(categories_of[items]),
        segments=torch.from_numpy((layout.columns > layout.input_lengths + 1).astype(np.int64)),
        real=torch.from_numpy(layout.columns <= layout.end),
    )


def with_masks(
    inputs: Sequence[Indices], counts: Sequence[int], categories_of: NDArray[np.int64], alphabet: Alphabet
) -> Tokens:
    """Return the tokens CLS input SEP MASK … MASK SEP, with `counts[i]` mask tokens after `inputs[i]`."""
    lengths = np.array([len(items) for items in inputs], dtype=np.int64)
    layout = lay_out(lengths, np.array(counts, dtype=np.int64))
    flat = np.concatenate([np.asarray(items, dtype=np.int64) for items in inputs])
    return tokens_of(fill(layout, flat, alphabet.mask, alphabet), layout, categories_of)


def in_a_row(lengths: Indices, items: Indices | int, categories_of: NDArray[np.int64], alphabet: Alphabet) -> Tokens:
    """Return tokens (B, T) of lists as one segment each; `items` are flat, list after list."""
    real = np.arange(int(lengths.max(initial=0)))[None] < lengths[:, None]
    tokens = np.full(real.shape, alphabet.pad)
    tokens[real] = items
    return Tokens(
        items=torch.from_numpy(tokens),
        categories=torch.from_numpy(categories_of[tokens]),
        segments=torch.zeros(real.shape, dtype=torch.int64),
        real=torch.from_numpy(real),
    )
