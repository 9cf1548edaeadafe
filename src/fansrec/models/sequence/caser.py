"""Caser (Tang and Wang, WSDM 2018): convolutions over the embeddings of the last few items.

Horizontal filters slide over 1, 2, … adjacent items, followed by a maximum; vertical filters weight the positions of
the window. Lists have no user, so there is no user embedding.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fansrec.models.contract import Inputs
from fansrec.models.sequence.config import CaserConfig
from fansrec.models.sequence.sequential import ItemEmbedding, NextItemModel
from fansrec.models.tokens import Tokens


class Caser(NextItemModel):
    name: ClassVar[str] = "caser"
    title: ClassVar[str] = "Caser"

    def __init__(self, config: CaserConfig) -> None:
        embed = ItemEmbedding(config.alphabet, config.width, config.use_categories, deviation=1 / config.width)
        super().__init__(config, embed, nn.Linear(config.width, config.alphabet.items))
        heights = range(1, config.window + 1)
        self.horizontal = nn.ModuleList(nn.Conv1d(config.width, config.horizontal, height) for height in heights)
        self.vertical = nn.Linear(config.window, config.vertical)
        features = config.horizontal * config.window + config.vertical * config.width
        self.join = nn.Linear(features, config.width)

    def read(self, chunks: Sequence[Tokens]) -> Tensor:
        """Return (S, D): each position reads itself and the items just before it; zeros are before the first."""
        windows = [self._padded(tokens).unfold(1, self.config.window, 1).flatten(0, 1) for tokens in chunks]
        return self._convolve(torch.cat(windows))

    def score_next(self, inputs: Inputs) -> Tensor:
        """Return the scores (B, M) of the next item; only the last window of each list is read."""
        window = self.config.window
        tokens, last = self.tokens([items[-window:] for items in inputs])
        x = self._padded(tokens)
        columns = last[:, None] + torch.arange(window, device=last.device)  # padding has shifted them by window - 1
        rows = torch.arange(len(last), device=last.device)[:, None]
        return self.scores(self._convolve(x[rows, columns].transpose(1, 2)))

    def _padded(self, tokens: Tokens) -> Tensor:  # (B, window - 1 + T, D)
        return F.pad(self.embedded(tokens), (0, 0, self.config.window - 1, 0))

    def _convolve(self, windows: Tensor) -> Tensor:  # (S, D, window) -> (S, D)
        slides = [self._slide(windows, filters) for filters in self.horizontal]  # each (S, horizontal)
        features = torch.cat([self.vertical(windows).flatten(1), *slides], 1)
        return F.relu(self.join(self.dropout(features)))

    def _slide(self, windows: Tensor, filters: nn.Module) -> Tensor:
        """Return the maximum of each filter over a window; one product is faster than conv1d here."""
        assert isinstance(filters, nn.Conv1d)
        seen = windows.unfold(2, filters.kernel_size[0], 1).transpose(1, 2).flatten(2)  # (S, slides, D * height)
        return F.relu(F.linear(seen, filters.weight.flatten(1), filters.bias)).amax(1)
