"""Item-item weights, as a full matrix or the strongest of each item, and the scores of lists by them.

A list's score for an item is the sum of the weights from the list's items to it; a repeated item counts twice.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from fansrec.models.contract import Inputs
from fansrec.models.linear.config import TIE
from fansrec.models.linear.popularity import ClosedFormModel
from fansrec.models.threads import map_in_threads
from fansrec.models.validation import check_indices

CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Table:
    """The strongest weights of M items: the items they lead to, and the weights."""

    items: Tensor  # (M, n) int32
    weights: Tensor  # (M, n) float32; 0 where an item has fewer

    @staticmethod
    def empty(items: int, width: int) -> "Table":
        return Table(torch.zeros(items, width, dtype=torch.int32), torch.zeros(items, width))

    @property
    def width(self) -> int:
        return self.items.shape[1]


class ItemToItem(ClosedFormModel):
    """A model that consists of item-item weights; a subclass defines how they are fitted."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        items, width = config.items, config.width
        self.weights = DenseWeights(items) if width is None else PrunedWeights(items, width)

    def score_next(self, inputs: Inputs) -> Tensor:
        """Return the scores (B, M) of the next item."""
        scores: Tensor = self.weights(inputs)
        return scores


class DenseWeights(nn.Module):
    """All weights, as a matrix (M, M)."""

    matrix: Tensor
    popularity: Tensor

    def __init__(self, items: int) -> None:
        super().__init__()
        self.register_buffer("matrix", torch.empty(items, items))  # takes no memory until it is fitted or loaded
        self.register_buffer("popularity", torch.zeros(items))

    def assign_matrix(self, matrix: Tensor) -> None:
        self.matrix = matrix

    def forward(self, inputs: Inputs, factors: Tensor | None = None) -> Tensor:
        """Return the scores (B, M); `factors` are those of the inputs' items, one input after the other (None: 1)."""
        flat, starts, _ = _flat(inputs, self.matrix.device)
        factors = None if factors is None else factors.to(self.matrix)
        sums = functional.embedding_bag(flat, self.matrix, starts, mode="sum", per_sample_weights=factors)
        return sums + TIE * self.popularity


class SparseWeights(nn.Module):
    """The strongest weights of each item, (M, width)."""

    items: Tensor
    weights: Tensor

    def __init__(self, items: int, width: int) -> None:
        super().__init__()
        table = Table.empty(items, width)
        self.register_buffer("items", table.items)
        self.register_buffer("weights", table.weights)

    @property
    def width(self) -> int:
        return self.items.shape[1]

    def assign(self, table: Table) -> None:
        self.items, self.weights = table.items, table.weights

    def assign_matrix(self, matrix: Tensor) -> None:
        self.assign(prune(matrix, self.width))

    def check_arrays(self) -> None:
        """Raise BadArtifact if a weight leads to an item that does not exist."""
        check_indices("items", self.items, len(self.items))


class PrunedWeights(SparseWeights):
    """The strongest weights of each item, for models that consist of them."""

    popularity: Tensor

    def __init__(self, items: int, width: int) -> None:
        super().__init__(items, width)
        self.register_buffer("popularity", torch.zeros(items))

    def forward(self, inputs: Inputs, factors: Tensor | None = None) -> Tensor:
        """Return the scores (B, M); `factors` are those of the inputs' items, one input after the other (None: 1)."""
        device = self.weights.device
        flat, starts, lengths = _flat(inputs, device)
        steps = torch.arange(int(lengths.max()), device=device)
        there = steps < lengths[:, None]  # (B, L)
        indices = (starts[:, None] + steps).clamp(max=len(flat) - 1)
        items, counts = flat[indices], there if factors is None else there * factors.to(device)[indices]
        weights = self.weights[items] * counts[..., None]  # (B, L, n)
        # Summed in double precision, so that the order in which a GPU adds them is not visible after rounding.
        scores = torch.zeros(len(inputs), len(self.popularity), dtype=torch.float64, device=device)
        scores.scatter_add_(1, self.items[items].long().flatten(1), weights.double().flatten(1))
        return scores.float() + TIE * self.popularity


def strongest(rows: Tensor, columns: Tensor, weights: Tensor, items: int, width: int) -> Table:
    """Return the `width` entries of each row with the largest absolute weights; equal ones in the given order."""
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
    """Return the `width` entries of each row of a matrix (M, M) with the largest absolute weights."""
    items = matrix.abs().topk(width, 1).indices
    return Table(items.int(), matrix.gather(1, items))


def merge(table: Table, columns: Tensor, weights: Tensor) -> None:
    """Replace weights of a table by those of further columns (n,) that are stronger; their weights are (M, n)."""
    rows = max(1, CELLS_AT_ONCE // (table.width + len(columns)))

    def merge_rows(first: int) -> None:
        some = slice(first, first + rows)
        both = torch.cat([table.weights[some], weights[some]], 1)
        items = torch.cat([table.items[some], columns.int().expand(len(both), -1)], 1)
        best = both.abs().topk(table.width, 1).indices
        table.items[some], table.weights[some] = items.gather(1, best), both.gather(1, best)

    map_in_threads(merge_rows, range(0, len(weights), rows))


def shares(popularity: NDArray[np.int64]) -> Tensor:
    """Return the share (M,) of each item in all list memberships."""
    return torch.from_numpy(popularity / max(popularity.sum(), 1)).float()


def _flat(inputs: Inputs, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return the items of all lists one after the other, where each list starts, and its length."""
    lengths = torch.tensor([len(items) for items in inputs], dtype=torch.int64)
    flat = torch.from_numpy(np.concatenate([np.asarray(items, dtype=np.int64) for items in inputs]))
    return flat.to(device), (lengths.cumsum(0) - lengths).to(device), lengths.to(device)
