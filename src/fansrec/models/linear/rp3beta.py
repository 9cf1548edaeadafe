"""RP3beta: a random walk from the input's items to lists to items, popular ends held back (Paudel et al., TiiS 2017).

The walk goes from item i to one of its lists and on to one of that list's items, each chance raised to alpha; what
comes out is divided by a power beta of the popularity of where it ends:

    W_ij = sum over the lists u of both i and j of (1 / pop_i)^alpha (1 / |u|)^alpha, divided by pop_j^beta

Departures: the walk's first step, from the new list to its items, is the same for each of them, so it is left out, and
an item the list has twice begins two walks. No walk ends where it began. List-item data has no ratings: X is binary.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.errors import BadSetting
from fansrec.models.linear.cooccurrence import Cooccurrence
from fansrec.models.linear.item_weights import ItemToItem, kept


@dataclass(frozen=True)
class RP3betaConfig:
    category_starts: tuple[int, ...]
    alpha: float = 1.0  # the power of the chances; 1: a plain walk
    beta: float = 0.4  # the power of the popularity
    neighbours: int = 0  # how many count for each item; 0: all, or 200 where there are more than `dense_items` items
    dense_items: int = 15_000

    @property
    def width(self) -> int | None:
        return kept(self.category_starts[-1], self.neighbours, self.dense_items)

    def __post_init__(self) -> None:
        _ = self.width  # refuses what makes no sense
        for name in ("alpha", "beta"):
            if getattr(self, name) < 0:
                raise BadSetting(f"{name} is {getattr(self, name)}; it must not be below 0")


class RP3beta(ItemToItem):
    name: ClassVar[str] = "rp3beta"
    title: ClassVar[str] = "RP3beta"
    search: ClassVar[dict[str, tuple[float, ...]]] = {
        "alpha": (0.4, 0.6, 0.8, 1.0),
        "beta": (0.0, 0.1, 0.2, 0.3, 0.5),
    }

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """List i is `items[offsets[i]:offsets[i + 1]]`."""
        alpha, beta = self.config.alpha, self.config.beta
        together = Cooccurrence(items, offsets, self.config.category_starts[-1], length_exponent=alpha)
        popularity = torch.from_numpy(together.popularity).clamp(min=1).float()
        begin, end = popularity**-alpha, popularity**-beta
        together.teach(self.weights, lambda some, counts: counts.mul_(begin[some, None]).mul_(end))
