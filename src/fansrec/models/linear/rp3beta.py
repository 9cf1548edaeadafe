"""RP3beta: a random walk from the input's items to lists to items, penalized by popularity (Paudel et al., TiiS 2017).

The walk goes from item i to one of its lists and on to one of that list's items, each probability raised to alpha; the
result is divided by a power beta of the popularity of the last item:

    W_ij = sum over the lists u of both i and j of (1 / pop_i)^alpha (1 / |u|)^alpha, divided by pop_j^beta

Differences: the first step of the walk, from the new list to its items, is the same for each of them, so it is left
out, and a repeated item starts two walks. No walk ends where it started. There are no ratings: X is binary.
"""

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.models.linear.cooccurrence import Cooccurrence
from fansrec.models.linear.item_weights import ItemToItem


class RP3beta(ItemToItem):
    name: ClassVar[str] = "rp3beta"
    title: ClassVar[str] = "RP3beta"
    search: ClassVar[dict[str, tuple[float, ...]]] = {
        "alpha": (0.4, 0.6, 0.8, 1.0),
        "beta": (0.0, 0.1, 0.2, 0.3, 0.5),
    }

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Compute the walks over the lists `items[offsets[i]:offsets[i + 1]]`."""
        alpha, beta = self.config.alpha, self.config.beta
        together = Cooccurrence(items, offsets, self.config.items, length_exponent=alpha)
        popularity = torch.from_numpy(together.popularity).clamp(min=1).float()
        begin, end = popularity**-alpha, popularity**-beta
        together.fit(self.weights, lambda rows, columns, counts: counts.mul_(begin[rows]).mul_(end[columns]))
