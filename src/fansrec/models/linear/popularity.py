"""Popularity: the items of most training lists, the same for every input. The baseline that every model must beat."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn


@dataclass(frozen=True)
class PopularityConfig:
    category_starts: tuple[int, ...]


class Popularity(nn.Module):
    name: ClassVar[str] = "popularity"
    title: ClassVar[str] = "popularity"
    generation: ClassVar[str] = "recall"
    ranks: ClassVar[int] = 1
    counts: Tensor

    def __init__(self, config: PopularityConfig) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("counts", torch.zeros(config.category_starts[-1]))

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Count the lists of every item; list i is `items[offsets[i]:offsets[i + 1]]`."""
        self.counts = torch.from_numpy(list_counts(items, offsets, len(self.counts))).float()

    def longest_sequence(self) -> None:
        return None

    def score_next(self, inputs: Sequence[NDArray[np.int64]]) -> Tensor:
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
