"""Weights from item to item, whole or pruned, and the scores of lists by them.

A list's score for an item is the sum of the weights from the list's items to it; a repeated item counts twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from fansrec.errors import BadSetting
from fansrec.models.validation import check_indices

NEIGHBOURS = 200  # weights an item keeps where not all fit
# Among items that score the same, above all those with no weight at all, the more popular goes first. Too small to
# come between two scores.
TIE = 1e-9


@dataclass(frozen=True)
class Table:
    """The strongest weights of M items: where they go, and how strong they are."""

    items: Tensor  # (M, n) int32
    weights: Tensor  # (M, n) float32; 0 where an item has fewer

    @staticmethod
    def empty(items: int, width: int) -> "Table":
        return Table(torch.zeros(items, width, dtype=torch.int32), torch.zeros(items, width))

    @property
    def width(self) -> int:
        return self.items.shape[1]


def kept(items: int, neighbours: int, dense_items: int) -> int | None:
    """How many weights each of `items` keeps; None: all, as a matrix. `neighbours` = 0 leaves it to the size."""
    for name, value in (("neighbours", neighbours), ("dense_items", dense_items)):
        if value < 0:
            raise BadSetting(f"{name} is {value}; it must not be below 0")
    if neighbours == 0 and items <= dense_items:
        return None
    return min(neighbours or NEIGHBOURS, items - 1)  # none to itself


def item_weights(items: int, width: int | None) -> "DenseWeights | PrunedWeights":
    """Weights still to be learned: a matrix, or `width` of them an item."""
    return DenseWeights(items) if width is None else PrunedWeights(items, width)


class ItemToItem(nn.Module):
    """A model that is nothing but such weights; its own file says how they are learned."""

    generation: ClassVar[str] = "recall"
    ranks: ClassVar[int] = 1

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self.weights = item_weights(config.category_starts[-1], config.width)

    def longest_sequence(self) -> None:
        return None

    def score_next(self, inputs: Sequence[NDArray[np.int64]]) -> Tensor:
        scores: Tensor = self.weights(inputs)
        return scores


class DenseWeights(nn.Module):
    matrix: Tensor
    popularity: Tensor

    def __init__(self, items: int) -> None:
        super().__init__()
        self.register_buffer("matrix", torch.empty(items, items))  # takes no memory until it is learned or loaded
        self.register_buffer("popularity", torch.zeros(items))

    def forward(self, inputs: Sequence[NDArray[np.int64]], stress: Tensor | None = None) -> Tensor:  # (B, M)
        """`stress`: how much each item of the inputs counts, one input after the other; all the same if None."""
        flat, starts, _ = _flat(inputs, self.matrix.device)
        stress = None if stress is None else stress.to(flat.device)
        sums = functional.embedding_bag(flat, self.matrix, starts, mode="sum", per_sample_weights=stress)
        return sums + TIE * self.popularity


class PrunedWeights(nn.Module):
    items: Tensor
    weights: Tensor
    popularity: Tensor

    def __init__(self, items: int, width: int) -> None:
        super().__init__()
        self.width = width
        table = Table.empty(items, width)
        self.register_buffer("items", table.items)
        self.register_buffer("weights", table.weights)
        self.register_buffer("popularity", torch.zeros(items))

    def learn(self, table: Table) -> None:
        self.items, self.weights = table.items, table.weights

    def check_arrays(self) -> None:
        check_indices("items", self.items, len(self.items))

    def forward(self, inputs: Sequence[NDArray[np.int64]], stress: Tensor | None = None) -> Tensor:  # (B, M)
        """`stress`: how much each item of the inputs counts, one input after the other; all the same if None."""
        device = self.weights.device
        flat, starts, lengths = _flat(inputs, device)
        steps = torch.arange(int(lengths.max()), device=device)
        there = steps < lengths[:, None]  # (B, L)
        places = (starts[:, None] + steps).clamp(max=len(flat) - 1)
        items, counts = flat[places], there if stress is None else there * stress.to(device)[places]
        weights = self.weights[items] * counts[..., None]  # (B, L, n)
        # Summed in double precision, so that the order in which a GPU adds them does not show after rounding.
        scores = torch.zeros(len(inputs), len(self.popularity), dtype=torch.float64, device=device)
        scores.scatter_add_(1, self.items[items].long().flatten(1), weights.double().flatten(1))
        return scores.float() + TIE * self.popularity


def strongest(rows: Tensor, columns: Tensor, weights: Tensor, items: int, width: int) -> Table:
    """The `width` weights of the largest size from each row's item, out of single entries; ties as they come."""
    order = weights.abs().argsort(descending=True, stable=True)
    order = order[rows[order].argsort(stable=True)]
    rows = rows[order]
    counts = torch.bincount(rows, minlength=items)
    rank = torch.arange(len(rows)) - (counts.cumsum(0) - counts)[rows]
    keep = rank < width
    table = Table.empty(items, width)
    table.items[rows[keep], rank[keep]] = columns[order][keep].int()
    table.weights[rows[keep], rank[keep]] = weights[order][keep]
    return table


def prune(matrix: Tensor, width: int) -> Table:
    """The `width` weights of the largest size in each row."""
    items = matrix.abs().topk(width, 1).indices
    return Table(items.int(), matrix.gather(1, items))


def shares(popularity: NDArray[np.int64]) -> Tensor:
    """How large a part of all list memberships is each item's."""
    return torch.from_numpy(popularity / max(popularity.sum(), 1)).float()


def _flat(inputs: Sequence[NDArray[np.int64]], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """All items one after the other, where each list begins, and its length."""
    lengths = torch.tensor([len(items) for items in inputs], dtype=torch.int64)
    flat = torch.from_numpy(np.concatenate([np.asarray(items, dtype=np.int64) for items in inputs]))
    return flat.to(device), (lengths.cumsum(0) - lengths).to(device), lengths.to(device)
