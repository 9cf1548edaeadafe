"""A sparse symmetric matrix, and linear equations with it."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fansrec.models.linear.sparse_rows import Integers, SparseRows, Values


@dataclass(frozen=True)
class SymmetricMatrix:
    """The diagonal (M,), and every other pair once: in `links`, from the row with fewer entries, and transposed."""

    diagonal: Values
    links: SparseRows
    transposed: SparseRows

    @staticmethod
    def of(rows: Integers, columns: Integers, values: Values, diagonal: Values) -> "SymmetricMatrix":
        """Return the matrix with these entries, sorted by row; those of the diagonal are ignored.

        If an entry is missing in one of its two places, the row with fewer entries decides.
        """
        size = len(diagonal)
        # Rows with many entries link to few others then: looking up a pair takes less time.
        order = np.argsort(-np.bincount(rows, minlength=size), kind="stable")
        rank = np.empty(size, np.int32)
        rank[order] = np.arange(size)
        one = np.flatnonzero(rank[columns] < rank[rows])
        rows, columns, values = rows[one], columns[one], values[one]
        back = np.argsort(columns, kind="stable")
        transposed = SparseRows.of(columns[back], rows[back], values[back], size)
        return SymmetricMatrix(diagonal, SparseRows.of(rows, columns, values, size), transposed)

    def times(self, vectors: Tensor) -> Tensor:
        """Return the product with vectors (M, n)."""
        product = self.links.times(vectors).add_(self.transposed.times(vectors))
        return product.addcmul_(vectors, torch.from_numpy(self.diagonal)[:, None])

    def descend(self, weights: Tensor, sides: Tensor, fixed: tuple[Tensor, Tensor], steps: int) -> None:
        """Bring `weights` (M, n) closer to the solution of matrix x weights = sides, except the `fixed` cells.

        Takes steps of the conjugate gradient method, preconditioned with the diagonal.
        """
        scale = torch.from_numpy(self.diagonal)[:, None]
        residual = sides - self.times(weights)
        residual[fixed] = 0
        direction = residual / scale
        norm = (residual * direction).sum(0)
        for _ in range(steps):
            ahead = self.times(direction)
            ahead[fixed] = 0
            curvature = (direction * ahead).sum(0)
            length = torch.where(curvature > 0, norm / curvature, 0)  # no step where the solution is reached
            weights.addcmul_(direction, length)
            residual.addcmul_(ahead, length, value=-1)
            scaled = residual / scale
            before, norm = norm, (residual * scaled).sum(0)
            direction.mul_(torch.where(before > 0, norm / before, 0)).add_(scaled)
