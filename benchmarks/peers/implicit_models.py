"""Item-item models and matrix factorization of implicit, in its own environment."""

from typing import Any

import numpy as np
from benchmarks.peers.files import Lists
from implicit.als import AlternatingLeastSquares
from implicit.nearest_neighbours import BM25Recommender, CosineRecommender, TFIDFRecommender
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

CLASSES = {
    "cosine": CosineRecommender,
    "tfidf": TFIDFRecommender,
    "bm25": BM25Recommender,
    "als": AlternatingLeastSquares,
}
SEED = 0


def open_model(name: str) -> "ImplicitModel":
    return ImplicitModel(name)


class ImplicitModel:
    """A model of implicit; lists are its users, and a new list is given as a row of the user-item matrix."""

    def __init__(self, name: str) -> None:
        self.name = name
        # Empty positions have the lowest float; item-item models also return items of the input, with a score of 0.
        self.lowest = -1e30 if name == "als" else 0.0
        if name == "als":  # implicit warns that threads of BLAS inside its own threads are slow
            threadpool_limits(1, "blas")

    def fit(self, settings: dict[str, Any], lists: Lists, items: int) -> None:
        self.items = items
        settings = settings | ({"random_state": SEED} if self.name == "als" else {})
        self.model = CLASSES[self.name](**settings)
        self.model.fit(item_matrix(lists, items), show_progress=False)

    def answer(self, inputs: Lists, k: int) -> NDArray[np.int64]:
        matrix, users = item_matrix(inputs, self.items), np.arange(len(inputs))
        found, scores = self.model.recommend(users, matrix, N=k, recalculate_user=self.name == "als")
        return np.where(scores > self.lowest, found, -1).astype(np.int64)


def item_matrix(lists: Lists, items: int) -> csr_matrix:
    """Return which list has which item as a sparse matrix, (lists, items), 1 also for items that a list repeats."""
    rows = [np.unique(one) for one in lists]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    columns = np.concatenate(rows)
    return csr_matrix((np.ones(len(columns), dtype=np.float32), columns, offsets), shape=(len(lists), items))
