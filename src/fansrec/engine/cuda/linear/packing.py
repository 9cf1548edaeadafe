"""A linear model alone, or popularity, as the kernels read it, on the GPU."""

import math
from ctypes import Structure
from typing import Any

import torch

from fansrec.engine.cuda.hybrid.packing import NO_NETWORK, DeviceArrays, scale_for
from fansrec.engine.cuda.hybrid.structures import LinearPart, ListMemory, TiedWeights
from fansrec.engine.cuda.sizes import CLUSTER
from fansrec.models.linear.config import TIE
from fansrec.models.linear.item_weights import DenseWeights
from fansrec.models.linear.popularity import Popularity

MACROS = NO_NETWORK | {
    **{"TWO_STAGE": 0, "EMBED_CATEGORIES": 0, "SEGMENTED": 1, "TIED": 1, "CAUSAL": 0, "HALVES": 1},
    **{"SASREC": 0, "TEAM": CLUSTER},
    **{"READ_NEXT": 1, "READ_MASKS": 0, "READ_CATEGORIES": 1, "RAW_SUMS": 1},
}


class PackedLinear(DeviceArrays):
    """The structures of a linear model; those of other parts are empty."""

    def __init__(self, model: Any, device: torch.device, longest: int) -> None:
        """`longest` is the largest number of items of an input."""
        super().__init__(device)
        self.items = model.config.category_starts[-1]
        self.memory, self.tied = ListMemory(), TiedWeights()
        self.linear = self._popularity(model) if isinstance(model, Popularity) else self._weights(model, longest)

    def _popularity(self, model: Popularity) -> Structure:
        return LinearPart(base=self._floats(model.counts / model.counts.sum()), width=0, decay=math.inf, scale=1.0)

    def _weights(self, model: Any, longest: int) -> Structure:
        table = model.weights
        weights = weights_of(table)
        return LinearPart(
            items=None if isinstance(table, DenseWeights) else self._integers(table.items),
            weights=self._floats(weights),
            base=self._floats(TIE * table.popularity),
            width=weights.shape[1],
            decay=getattr(model.config, "input_decay", math.inf),
            scale=scale_for(longest * largest(weights)),
        )


def weights_of(table: Any) -> torch.Tensor:
    """Return the weights of a linear model: a matrix (M, M), or the strongest of each item, (M, width)."""
    weights: torch.Tensor = table.matrix if isinstance(table, DenseWeights) else table.weights
    return weights


def largest(weights: torch.Tensor) -> float:
    """Return the largest absolute weight, without a copy of all; NaN if one is not a number."""
    if not weights.numel():
        return 0.0
    return float(torch.stack([weights.max(), -weights.min()]).max())
