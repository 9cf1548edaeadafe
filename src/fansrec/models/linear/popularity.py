"""Popularity: the items of most training lists, the same for every input. The baseline that every model must beat."""

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fansrec.models.config import ItemsConfig
from fansrec.models.contract import Inputs


class ClosedFormModel(nn.Module):
    """A model that is fitted to all training lists at once and continues lists of any length."""

    generation: ClassVar[str] = "recall"
    ranks: ClassVar[int] = 1

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config

    def longest_sequence(self) -> None:
        return None


class Popularity(ClosedFormModel):
    name: ClassVar[str] = "popularity"
    title: ClassVar[str] = "popularity"
    counts: Tensor

    def __init__(self, config: ItemsConfig) -> None:
        super().__init__(config)
        self.register_buffer("counts", torch.zeros(config.category_starts[-1]))

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Count the lists of every item; list i is `items[offsets[i]:offsets[i + 1]]`."""
        self.counts = torch.from_numpy(list_counts(items, offsets, len(self.counts))).float()

    def score_next(self, inputs: Inputs) -> Tensor:
        """Return the share (B, M) of each item in all list memberships."""
        return (self.counts / self.counts.sum()).expand(len(inputs), -1)


def memberships(
    items: NDArray[np.int32], offsets: NDArray[np.int64], vocabulary: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct pairs of list and item as two arrays, sorted by list and then by item."""
    lists = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.divmod(np.unique(lists * vocabulary + items), vocabulary)


def list_counts(items: NDArray[np.int32], offsets: NDArray[np.int64], vocabulary: int) -> NDArray[np.int64]:
    """Return the number of lists (M,) of each item."""
    return np.bincount(memberships(items, offsets, vocabulary)[1], minlength=vocabulary)
