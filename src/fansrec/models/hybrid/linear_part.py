"""The linear part of `--recipe best`: the strongest weights of SLIST, asked on the host as the memory is."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fansrec.models.linear.item_weights import Table
from fansrec.models.validation import check_indices


class LinearPart(nn.Module):
    """Item-item weights that stay on the host: adding up a few rows is many small steps, no work for a GPU."""

    items: Tensor
    weights: Tensor

    def __init__(self, items: int, width: int) -> None:
        super().__init__()
        table = Table.empty(items, width)
        self.register_buffer("items", table.items)
        self.register_buffer("weights", table.weights)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "LinearPart":
        return self

    def learn(self, table: Table) -> None:
        self.items, self.weights = table.items, table.weights

    def check_arrays(self) -> None:
        check_indices("items", self.items, len(self.items))

    @property
    def width(self) -> int:
        return self.items.shape[1]

    def strengths(self, inputs: Sequence[NDArray[np.int64]], decay: float) -> Tensor:
        """(B, M): what the weights say, the strongest 1; 0 for what they speak against and for the input's items.

        The last item of an input weighs 1, one `decay` places before it 1/e.
        """
        items, weights = self.items.numpy(), self.weights.numpy()
        out = np.zeros((len(inputs), len(items)), dtype=np.float32)
        for row, given in zip(out, inputs, strict=True):
            recency = np.exp(np.arange(1 - len(given), 1) / decay)[:, None]
            said = np.bincount(items[given].ravel(), (weights[given] * recency).ravel(), minlength=len(items))
            said[given] = 0
            row[:] = np.maximum(said / max(said.max(initial=0.0), 1e-30), 0)
        return torch.from_numpy(out)
