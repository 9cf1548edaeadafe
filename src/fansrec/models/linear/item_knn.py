"""Item-kNN: items whose lists are most similar to those of the input's items. No training, and hard to beat.

After Sarwar et al. (WWW 2001; cosine) and Deshpande and Karypis (TOIS 2004; the conditional similarity: how often j is
in a list with i, divided by a power of the popularity of j). G is the number of lists that two items share:

    cosine       G_ij / (sqrt(pop_i pop_j) + shrinkage)
    jaccard      G_ij / (pop_i + pop_j - G_ij + shrinkage)
    conditional  G_ij / (pop_i pop_j^popularity_exponent + shrinkage)

Differences: the weights of a list's items are added up without normalization by rows or by neighbors.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fansrec.models.linear.config import SIMILARITIES
from fansrec.models.linear.cooccurrence import Cooccurrence
from fansrec.models.linear.item_weights import ItemToItem


class ItemKnn(ItemToItem):
    name: ClassVar[str] = "item-knn"
    title: ClassVar[str] = "item-kNN"
    search: ClassVar[dict[str, tuple[Any, ...]]] = {
        "similarity": SIMILARITIES,
        "shrinkage": (0.0, 10.0, 30.0, 100.0),
        "neighbours": (0, 50),  # words: keep
    }

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Compute the similarities of items in the lists `items[offsets[i]:offsets[i + 1]]`."""
        together = Cooccurrence(items, offsets, self.config.items)
        norms = together.norms()
        together.fit(self.weights, lambda rows, columns, counts: self._similar(counts, norms[rows], norms[columns]))

    def _similar(self, counts: Tensor, from_: Tensor, to: Tensor) -> Tensor:
        """Return entries of G as similarities; `from_` and `to` are square roots of popularities."""
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
