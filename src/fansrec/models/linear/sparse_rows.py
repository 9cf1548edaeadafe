"""A sparse matrix row after row; torch's own is still called a beta version and says so in a warning."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

Integers = NDArray[np.int32]
Values = NDArray[np.float32]


@dataclass(frozen=True)
class SparseRows:
    """The entries of a matrix: `columns` and `values` of row i from `starts[i]` on, `lengths[i]` of them."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    columns: Integers
    values: Values

    @staticmethod
    def of(rows: Integers, columns: Integers, values: Values, size: int) -> "SparseRows":
        """Return a matrix of `size` rows from entries that are sorted by row."""
        lengths = np.bincount(rows, minlength=size)
        return SparseRows(np.cumsum(lengths) - lengths, lengths, columns, values)

    def times(self, vectors: Tensor) -> Tensor:
        """Return the product with vectors (M, n)."""
        columns, starts, values = map(torch.from_numpy, (self.columns, self.starts.astype(np.int32), self.values))
        return functional.embedding_bag(columns, vectors, starts, mode="sum", per_sample_weights=values)
