"""Products with sparse matrices, against dense ones."""

import numpy as np
import torch

from fansrec.models.linear.sparse_rows import SparseRows


def test_product_equals_the_dense_one() -> None:
    dense = np.array([[0, 2.0, 0], [0, 0, 0], [1.0, 0, 3.0], [0, 0, 0]], dtype=np.float32)  # also rows without entries
    rows, columns = (indices.astype(np.int32) for indices in dense.nonzero())
    sparse = SparseRows.of(rows, columns, dense[rows, columns], 4)
    other = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    torch.testing.assert_close(sparse.times(other), torch.from_numpy(dense) @ other)
