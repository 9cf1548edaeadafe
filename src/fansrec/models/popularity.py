"""Popularity: the items that stand in most training lists, the same for everyone. The floor every model must beat."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fansrec.decoding import ScoreBlock


@dataclass(frozen=True)
class PopularityConfig:
    category_starts: tuple[int, ...]


class Popularity(nn.Module):
    name: ClassVar[str] = "popularity"
    generation: ClassVar[str] = "recall"
    ranks: ClassVar[int] = 1
    counts: Tensor

    def __init__(self, config: PopularityConfig) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("counts", torch.zeros(config.category_starts[-1]))

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Count the lists each item stands in; list i is `items[offsets[i]:offsets[i + 1]]`."""
        lists = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        pairs = np.unique(np.stack([lists, items.astype(np.int64)], 1), axis=0)
        self.counts = torch.from_numpy(np.bincount(pairs[:, 1], minlength=len(self.counts))).float()

    def longest_sequence(self) -> None:
        return None

    def score_positions(self, inputs: Sequence[NDArray[np.int64]], counts: Sequence[int]) -> ScoreBlock:
        shares = self.counts / self.counts.sum()
        return lambda first, last, rank: shares.expand(len(inputs), last - first, -1)
