"""Popularity: the items that stand in most training lists, the same for everyone. The floor every model must beat."""

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
        """List i is `items[offsets[i]:offsets[i + 1]]`."""
        self.counts = torch.from_numpy(list_counts(items, offsets, len(self.counts))).float()

    def longest_sequence(self) -> None:
        return None

    def score_next(self, inputs: Sequence[NDArray[np.int64]]) -> Tensor:  # (B, M)
        return (self.counts / self.counts.sum()).expand(len(inputs), -1)


def list_counts(items: NDArray[np.int32], offsets: NDArray[np.int64], vocabulary: int) -> NDArray[np.int64]:
    """How many lists each item stands in."""
    lists = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.bincount(np.unique(lists * vocabulary + items) % vocabulary, minlength=vocabulary)
