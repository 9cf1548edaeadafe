"""SASRec (Kang and McAuley, ICDM 2018): a Transformer in which every item looks at those before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from fansrec.models.layers.encoder import check_sizes
from fansrec.models.layers.transformer import Dropout
from fansrec.models.sequence.causal import Memory, attend_back
from fansrec.models.sequence.sequential import ItemEmbedding, NextItemModel, ReadOn
from fansrec.models.tokens import Alphabet, Tokens


@dataclass(frozen=True)
class SasRecConfig:
    category_starts: tuple[int, ...]
    positions: int
    width: int = 64
    layers: int = 3
    heads: int = 8
    dropout: float = 0.2
    use_categories: bool = True

    def __post_init__(self) -> None:
        check_sizes(self)

    @property
    def alphabet(self) -> Alphabet:
        return Alphabet.of(self.category_starts)


class SasRec(NextItemModel):
    name: ClassVar[str] = "sasrec"
    title: ClassVar[str] = "SASRec"
    layer: ClassVar[type[nn.Module]]  # below

    def __init__(self, config: SasRecConfig) -> None:
        deviation = config.width**-0.5
        embed = ItemEmbedding(config.alphabet, config.width, config.use_categories, deviation, config.positions)
        super().__init__(config, embed, choice=None)
        self.layers = nn.ModuleList(self.layer(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)

    def read(self, chunks: Sequence[Tokens]) -> Tensor:
        x = self.dropout(torch.cat([self.embedded(tokens).flatten(0, 1) for tokens in chunks]))  # (S, D)
        shapes = [tuple(tokens.items.shape) for tokens in chunks]
        for layer in self.layers:
            x = layer(x, shapes)
        return self.norm(x)  # type: ignore[no-any-return]

    def begin(self, inputs: Sequence[NDArray[np.int64]], room: int) -> ReadOn:
        return ReadOn(self, inputs, room)

    def start_reading(self, tokens: Tokens, last: Tensor, room: int) -> tuple[Tensor, list[Any]]:
        x, shape = self.embedded(tokens).flatten(0, 1), tuple(tokens.items.shape)
        states = []
        for layer in self.layers:
            x, state = layer.start(x, shape, last, room)  # type: ignore[operator]
            states.append(state)
        known = x.view(*shape, -1)[torch.arange(len(last), device=last.device), last]
        return self.norm(known), states

    def read_on(self, x: Tensor, places: Tensor, state: list[Any]) -> Tensor:
        for layer, of_layer in zip(self.layers, state, strict=True):
            x = layer.step(x, places, of_layer)  # type: ignore[operator]
        return self.norm(x)  # type: ignore[no-any-return]


class Layer(nn.Module):
    """Attention to what came before, then two linear layers; each half is normalised before and added after."""

    def __init__(self, config: SasRecConfig) -> None:
        super().__init__()
        self.heads, width = config.heads, config.width
        self.attention_norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.feedforward_norm = nn.LayerNorm(width)
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, shapes: Sequence[tuple[int, ...]]) -> Tensor:  # (S, D) -> (S, D)
        return self._after(x, attend_back(*self._views(x), self.heads, shapes))

    def start(self, x: Tensor, shape: tuple[int, ...], last: Tensor, room: int) -> tuple[Tensor, Memory]:
        """The same for one chunk, with what a later item will look back at."""
        q, k, v = self._views(x)
        memory = Memory(k.view(*shape, -1), v.view(*shape, -1), self.heads, room)
        return self._after(x, attend_back(q, k, v, self.heads, [shape])), memory

    def step(self, x: Tensor, places: Tensor, memory: Memory) -> Tensor:  # (B, D) -> (B, D)
        q, k, v = self._views(x)
        memory.put(k, v, places)
        return self._after(x, memory.attend(q, places))

    def _views(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = self.qkv(self.attention_norm(x)).chunk(3, 1)
        return q, k, v

    def _after(self, x: Tensor, attended: Tensor) -> Tensor:
        x = x + self.dropout(attended)
        inner = self.dropout(F.relu(self.first(self.feedforward_norm(x))))
        return x + self.dropout(self.second(inner))  # type: ignore[no-any-return]


SasRec.layer = Layer
