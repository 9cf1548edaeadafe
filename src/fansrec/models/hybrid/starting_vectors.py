"""The item vectors that training starts from: a truncated SVD of the lists.

A network that starts from random vectors has to learn first which items occur together, and small corpora are too small
for it. The matrix has a row for every list and a column for every item; rare items weigh more, and every row has length
1. Its right singular vectors are found by randomized subspace iteration (Halko et al., 2011).
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from fansrec.models.linear.popularity import memberships
from fansrec.models.linear.sparse_rows import Integers, SparseRows, Values
from fansrec.models.neighbors.list_search import MIN_RARITY

MORE = 32  # columns beyond those that are returned: the last ones are inaccurate
ITERATIONS = 6
# Times the mean length: popular items have vectors up to 100 times as long, with which the first predictions would be
# certain and wrong.
LONGEST = 3.0
TINY = 1e-12
NOISE = 0.01  # so that items of no list, and columns beyond the rank of the matrix, are not all equal


def starting_vectors(items: NDArray[np.int32], offsets: NDArray[np.int64], vocabulary: int, width: int) -> Tensor:
    """Return vectors (M, D) of mean length 1 or less for the lists `items[offsets[i]:offsets[i + 1]]`."""
    lists, columns = (array.astype(np.int32) for array in memberships(items, offsets, vocabulary))
    weights = _weights(lists, columns, len(offsets) - 1, vocabulary)
    by_item = np.argsort(columns, kind="stable")
    matrix = SparseRows.of(lists, columns, weights, len(offsets) - 1)
    transpose = SparseRows.of(columns[by_item], lists[by_item], weights[by_item], vocabulary)
    basis = torch.linalg.qr(torch.randn(vocabulary, min(width + MORE, vocabulary))).Q
    for _ in range(ITERATIONS):
        basis = torch.linalg.qr(transpose.times(matrix.times(basis))).Q
    _, values, right = torch.linalg.svd(torch.linalg.qr(matrix.times(basis), mode="r").R, full_matrices=False)
    found = (basis @ right.T * values)[:, :width]
    # A singular vector has no sign of its own: it would depend on the number of threads.
    found *= found.gather(0, found.abs().argmax(0, keepdim=True)).sign()
    vectors = NOISE * torch.randn(vocabulary, width)
    lengths = found.norm(dim=1, keepdim=True)
    lengths /= lengths.mean().clamp(min=TINY)
    vectors[:, : found.shape[1]] += F.normalize(found, eps=TINY) * lengths.clamp(max=LONGEST)
    return vectors


def _weights(lists: Integers, items: Integers, count: int, vocabulary: int) -> Values:
    """Return the weight of each pair of list and item: the rarity of the item, divided by the length of the row."""
    popularity = np.bincount(items, minlength=vocabulary)
    rarity = np.maximum(np.log(count / np.maximum(popularity, 1)), MIN_RARITY)[items]
    squares = np.bincount(lists, rarity**2, minlength=count)
    return np.asarray(rarity / np.sqrt(squares)[lists], dtype=np.float32)
