"""The item vectors that training starts from: a truncated SVD of the lists.

A network that starts from random vectors has to learn first which items occur together, and small corpora are too small
for it. The matrix has a row for every list and a column for every item; rare items weigh more, and every row has length
1. Its right singular vectors are found by randomized subspace iteration (Halko et al., 2011).
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from fansrec.models.linear.popularity import memberships

MORE = 32  # columns beyond those that are returned: the last ones are inaccurate
ITERATIONS = 6
NOISE = 0.01  # so that items of no list, and columns beyond the rank of the matrix, are not all equal
MIN_RARITY = 0.05  # of an item that nearly every list contains


def starting_vectors(items: NDArray[np.int32], offsets: NDArray[np.int64], vocabulary: int, width: int) -> Tensor:
    """Return vectors (M, D) of mean length 1 for the lists `items[offsets[i]:offsets[i + 1]]`."""
    lists, items_of_lists = memberships(items, offsets, vocabulary)
    weights = _weights(lists, items_of_lists, len(offsets) - 1, vocabulary)
    by_item = np.argsort(items_of_lists, kind="stable")
    matrix = Sparse.of(lists, items_of_lists, weights, len(offsets) - 1)
    transpose = Sparse.of(items_of_lists[by_item], lists[by_item], weights[by_item], vocabulary)
    basis = torch.linalg.qr(torch.randn(vocabulary, min(width + MORE, vocabulary))).Q
    for _ in range(ITERATIONS):
        basis = torch.linalg.qr(transpose @ (matrix @ basis)).Q
    _, values, right = torch.linalg.svd(torch.linalg.qr(matrix @ basis, mode="r").R, full_matrices=False)
    found = (basis @ right.T * values)[:, :width]
    vectors = NOISE * torch.randn(vocabulary, width)
    vectors[:, : found.shape[1]] += found / found.norm(dim=1).mean().clamp(min=1e-12)
    return vectors


def _weights(lists: NDArray[np.int64], items: NDArray[np.int64], count: int, vocabulary: int) -> NDArray[np.float64]:
    """Return the weight of each pair of list and item: the rarity of the item, divided by the length of the row."""
    popularity = np.bincount(items, minlength=vocabulary)
    rarity = np.maximum(np.log(count / np.maximum(popularity, 1)), MIN_RARITY)[items]
    squares = np.bincount(lists, rarity**2, minlength=count)
    weights: NDArray[np.float64] = rarity / np.sqrt(squares)[lists]
    return weights


@dataclass(frozen=True)
class Sparse:
    """A sparse matrix by rows; torch's own is still called a beta version and says so in a warning."""

    starts: Tensor  # (rows,)
    columns: Tensor
    weights: Tensor

    @classmethod
    def of(
        cls, rows: NDArray[np.int64], columns: NDArray[np.int64], weights: NDArray[np.float64], count: int
    ) -> "Sparse":
        """Return a matrix of `count` rows from entries that are sorted by row."""
        sizes = np.bincount(rows, minlength=count)
        starts = torch.from_numpy(np.cumsum(sizes) - sizes)
        return cls(starts, torch.from_numpy(columns), torch.from_numpy(weights).float())

    def __matmul__(self, dense: Tensor) -> Tensor:
        return functional.embedding_bag(self.columns, dense, self.starts, mode="sum", per_sample_weights=self.weights)
