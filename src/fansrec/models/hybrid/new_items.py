"""Vectors and biases of items that the network of the hybrid model was not trained with. Needs no torch.

The vectors of a trained network place an item near the items that share lists with it. So does the vector of a new
item: it is the mean of the vectors of these, of its group and of its category, with the length of theirs.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]
Indices = NDArray[np.int64]

OF_CATEGORY = 0.5  # lists that the mean of the category counts for
TINY = 1e-12


def composed_vectors(
    vectors: Vectors, rows: Indices, others: Indices, weights: Floats, counts: Floats, categories: Vectors
) -> Vectors:
    """Return the vectors (A, D) of A new items from the `vectors` (M, D) of the trained ones.

    Pair p says that new item `rows[p]` shares lists of weight `weights[p]` with the trained item `others[p]`; the pairs
    are sorted by `rows`. `counts` (A,) is the weight of all lists of each new item, and `categories` (A, D) the mean
    vector of its category.
    """
    items = len(counts)
    sums = np.zeros((items, vectors.shape[1]))
    for item, ends in enumerate(pairwise(np.searchsorted(rows, np.arange(items + 1)).tolist())):
        pairs = slice(*ends)
        sums[item] = np.add.reduce(vectors[others[pairs]] * weights[pairs, None], axis=0)
    total = np.bincount(rows, weights, items)
    means = sums / np.maximum(total, TINY)[:, None]
    trust = np.where(total > 0, counts / (counts + OF_CATEGORY), 0)[:, None]
    mixed = trust * means + (1 - trust) * categories
    lengths = np.sqrt(np.einsum("md,md->m", vectors, vectors, dtype=np.float64))
    wanted = np.bincount(rows, weights * lengths[others], items) / np.maximum(total, TINY)
    wanted = np.where(total > 0, wanted, lengths.mean() if len(lengths) else 0)
    length = np.sqrt(np.einsum("ad,ad->a", mixed, mixed))
    return np.asarray(mixed * (wanted / np.maximum(length, TINY))[:, None], dtype=np.float32)


def category_means(values: NDArray[np.floating], starts: Indices) -> NDArray[np.float64]:
    """Return the mean (N, …) of the values (M, …) of the items of each category, which start at `starts` (N + 1,)."""
    sums = np.add.reduceat(values, starts[:-1], axis=0, dtype=np.float64)
    return sums / np.diff(starts).reshape(-1, *[1] * (values.ndim - 1))


def bias_shifts(biases: NDArray[np.float32], counts: Indices, starts: Indices) -> Floats:
    """Return how far training moved the biases (M,) of each category on average, (N,).

    A bias starts as the logarithm of the item's share in all lists; `counts` (M,) are the lists of every item.
    """
    smooth = counts + 1
    return category_means(biases - np.log(smooth / smooth.sum()), starts)


def new_biases(shifts: Floats, total: float, categories: Indices, counts: Floats) -> NDArray[np.float32]:
    """Return the biases (A,) of new items of these `categories` (A,), which have `counts` (A,) lists.

    A new item gets the bias of its own share in the `total`, moved as far as those of its category (`shifts`).
    """
    return np.asarray(np.log((counts + 1) / total) + shifts[categories], dtype=np.float32)
