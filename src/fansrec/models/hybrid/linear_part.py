"""The linear part of the hybrid model: the strongest item-item weights of SLIST."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.models.linear.item_weights import SparseWeights


class LinearPart(SparseWeights):
    """Item-item weights that stay in host memory: adding up a few rows is many small steps, too small for a GPU."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "LinearPart":
        return self

    def scores(self, inputs: Sequence[NDArray[np.int64]], decay: float) -> Tensor:
        """Return the sum (B, M) of the weights from the input's items to every item, divided by the highest.

        Negative sums and the items of the input get 0. The last item of an input weighs 1, the one `decay` positions
        before it 1/e.
        """
        items, weights = self.items.numpy(), self.weights.numpy()
        out = np.zeros((len(inputs), len(items)), dtype=np.float32)
        for row, given in zip(out, inputs, strict=True):
            recency = np.exp(np.arange(1 - len(given), 1) / decay)[:, None]
            sums = np.bincount(items[given].ravel(), (weights[given] * recency).ravel(), minlength=len(items))
            sums[given] = 0
            row[:] = np.maximum(sums / max(sums.max(initial=0.0), 1e-30), 0)
        return torch.from_numpy(out)
