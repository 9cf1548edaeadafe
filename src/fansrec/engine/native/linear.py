"""Linear models and popularity as the native kernel takes them."""

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from fansrec.engine.native.structures import Head, LinearModel, LinearPart
from fansrec.engine.native.weights import Weights
from fansrec.models.linear.config import TIE


class LinearWeights(Weights):
    """A linear model opened in the kernel."""

    kinds: ClassVar[Mapping[str, int]] = dict.fromkeys(("item-knn", "ease", "rp3beta", "slist", "popularity"), 4)

    def fill(self, name: str) -> None:
        items = self.config.category_starts[-1]
        self.model.head = Head(items=items)
        decay = getattr(self.config, "input_decay", math.inf)
        part = LinearPart(width=0, vocabulary=items, decay=decay)
        if name != "popularity":
            weights = "weights.matrix" if "weights.matrix" in self.arrays else "weights.weights"
            part.items, part.weights = self.array("weights.items", np.int32), self.array(weights)
            part.width = self.arrays[weights].shape[1]
        self.model.linear = self.keep(LinearModel(weights=part, base=self.base(name)))

    def base(self, name: str) -> int:
        """Return the address of the scores (M,) without the weights: the order of items with equal scores."""
        if name == "popularity":
            counts = self.arrays["counts"]
            with np.errstate(invalid="ignore"):  # if all are 0, no score is a number, and no item is selected
                return self.address(counts / counts.sum())
        return self.address(self.arrays["weights.popularity"] * np.float32(TIE))
