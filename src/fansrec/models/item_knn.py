"""Item-kNN: items whose lists are most alike (cosine) to those of the input's items. No training, and hard to beat."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fansrec.models.cooccurrence import Cooccurrence
from fansrec.models.item_weights import DenseWeights, ItemToItem, kept, shares


@dataclass(frozen=True)
class ItemKnnConfig:
    category_starts: tuple[int, ...]
    neighbours: int = 0  # how many count for each item; 0: all, or 200 where there are more than `dense_items` items
    dense_items: int = 15_000

    @property
    def width(self) -> int | None:
        return kept(self.category_starts[-1], self.neighbours, self.dense_items)

    def __post_init__(self) -> None:
        _ = self.width  # refuses what makes no sense


class ItemKnn(ItemToItem):
    name: ClassVar[str] = "item-knn"
    title: ClassVar[str] = "item-kNN"

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """G / sqrt(pop_i pop_j) without its diagonal; list i is `items[offsets[i]:offsets[i + 1]]`."""
        together = Cooccurrence(items, offsets, self.config.category_starts[-1])
        self.weights.popularity = shares(together.popularity)
        if isinstance(self.weights, DenseWeights):
            lengths = together.lengths()
            self.weights.matrix = together.gram().div_(lengths).div_(lengths[:, None]).fill_diagonal_(0)
        else:
            self.weights.learn(together.nearest(self.weights.width))
