"""Item-kNN: items whose lists are most alike to those of the input's items. No training, and hard to beat.

After Sarwar et al. (WWW 2001; cosine) and Deshpande and Karypis (TOIS 2004; the conditional similarity, which says how
often j stands where i does, and holds j's popularity against it by a power). G is how many lists two items share:

    cosine       G_ij / (sqrt(pop_i pop_j) + shrinkage)
    jaccard      G_ij / (pop_i + pop_j - G_ij + shrinkage)
    conditional  G_ij / (pop_i pop_j^popularity_exponent + shrinkage)

Departures: weights of a list's items are added up as they are, neither normalised by rows nor by neighbours.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fansrec.errors import BadSetting
from fansrec.models.linear.cooccurrence import Cooccurrence
from fansrec.models.linear.item_weights import ItemToItem, kept

SIMILARITIES = ("cosine", "jaccard", "conditional")


@dataclass(frozen=True)
class ItemKnnConfig:
    category_starts: tuple[int, ...]
    similarity: str = "cosine"  # or "jaccard", "conditional"
    shrinkage: float = 0.0  # so much weaker are weights that rest on few lists
    popularity_exponent: float = 0.25  # of the conditional similarity
    neighbours: int = 0  # how many count for each item; 0: all, or 200 where there are more than `dense_items` items
    dense_items: int = 15_000

    @property
    def width(self) -> int | None:
        return kept(self.category_starts[-1], self.neighbours, self.dense_items)

    def __post_init__(self) -> None:
        _ = self.width  # refuses what makes no sense
        if self.similarity not in SIMILARITIES:
            raise BadSetting(f"similarity is {self.similarity!r}; it can be {' or '.join(SIMILARITIES)}")
        for name in ("shrinkage", "popularity_exponent"):
            if getattr(self, name) < 0:
                raise BadSetting(f"{name} is {getattr(self, name)}; it must not be below 0")


class ItemKnn(ItemToItem):
    name: ClassVar[str] = "item-knn"
    title: ClassVar[str] = "item-kNN"
    search: ClassVar[dict[str, tuple[Any, ...]]] = {
        "similarity": SIMILARITIES,
        "shrinkage": (0.0, 10.0, 30.0, 100.0),
        "neighbours": (0, 50),
    }

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """List i is `items[offsets[i]:offsets[i + 1]]`."""
        together = Cooccurrence(items, offsets, self.config.category_starts[-1])
        lengths = together.lengths()
        together.teach(self.weights, lambda some, counts: self._similar(counts, lengths[some, None], lengths))

    def _similar(self, counts: Tensor, from_: Tensor, to: Tensor) -> Tensor:
        """Some rows of G as similarities; `from_` and `to` are the roots of popularities."""
        similarity, shrinkage = self.config.similarity, self.config.shrinkage
        if similarity == "cosine" and not shrinkage:
            return counts.div_(to).div_(from_)
        if similarity == "cosine":
            below = from_ * to
        elif similarity == "jaccard":
            below = from_.square() + to.square() - counts
        else:
            below = from_.square() * to.pow(2 * self.config.popularity_exponent)
        return counts.div_(below + shrinkage)
