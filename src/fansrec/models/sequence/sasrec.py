"""SASRec (Kang and McAuley, ICDM 2018): a Transformer with causal attention."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fansrec.models.layers.transformer import Dropout
from fansrec.models.sequence.config import SasRecConfig
from fansrec.models.sequence.sequential import IncrementalModel, ItemEmbedding
from fansrec.models.tokens import Tokens


def causal_attention(q: Tensor, k: Tensor, v: Tensor, heads: int, shapes: Sequence[tuple[int, ...]]) -> Tensor:
    """Return (S, D): every token attends to itself and to those before it in its list.

    `shapes` are the (B, T) of the chunks. Padding follows the items of a list, so no item attends to it.
    """
    sizes = [lists * tokens for lists, tokens in shapes]
    mixed = []
    for shape, *parts in zip(shapes, torch.split(q, sizes), torch.split(k, sizes), torch.split(v, sizes), strict=True):
        query, key, value = (part.view(*shape, heads, -1).transpose(1, 2) for part in parts)  # (B, H, T, D/H)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        mixed.append(seen.transpose(1, 2).reshape(parts[0].shape))
    return torch.cat(mixed)


class KeyValueCache:
    """Keys and values of the tokens read so far, with room for more; entries after a list's last token are ignored."""

    def __init__(self, keys: Tensor, values: Tensor, heads: int, room: int) -> None:  # (B, T, D)
        self.heads = heads
        self.keys, self.values = F.pad(keys, (0, 0, 0, room)), F.pad(values, (0, 0, 0, room))
        self.rows = torch.arange(len(keys), device=keys.device)
        self.columns = torch.arange(self.keys.shape[1], device=keys.device)

    def put(self, keys: Tensor, values: Tensor, positions: Tensor) -> None:
        """Store one more token (B, D) for each list, at its position (B,)."""
        self.keys[self.rows, positions] = keys
        self.values[self.rows, positions] = values

    def attend(self, q: Tensor, positions: Tensor) -> Tensor:
        """Return (B, D): each list's query over all its tokens up to its position (B,)."""
        seen = (self.columns <= positions[:, None])[:, None, None]
        query, keys, values = (
            x.view(len(q), -1, self.heads, q.shape[1] // self.heads).transpose(1, 2)
            for x in (q, self.keys, self.values)
        )
        return F.scaled_dot_product_attention(query, keys, values, attn_mask=seen).flatten(1)


class Layer(nn.Module):
    """Causal attention and two linear layers, each with layer norm before and a residual connection after it."""

    def __init__(self, config: SasRecConfig) -> None:
        super().__init__()
        self.heads, width = config.heads, config.width
        self.attention_norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.feedforward_norm = nn.LayerNorm(width)
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, shapes: Sequence[tuple[int, ...]]) -> Tensor:
        """Return (S, D) for the tokens (S, D) of chunks of these shapes."""
        return self._feedforward(x, causal_attention(*self._qkv(x), self.heads, shapes))

    def start(self, x: Tensor, shape: tuple[int, ...], last: Tensor, room: int) -> tuple[Tensor, KeyValueCache]:
        """Return the same for one chunk, and a cache for the attention of later items."""
        q, k, v = self._qkv(x)
        cache = KeyValueCache(k.view(*shape, -1), v.view(*shape, -1), self.heads, room)
        return self._feedforward(x, causal_attention(q, k, v, self.heads, [shape])), cache

    def step(self, x: Tensor, positions: Tensor, cache: KeyValueCache) -> Tensor:
        """Return (B, D) for one more token (B, D) of each list."""
        q, k, v = self._qkv(x)
        cache.put(k, v, positions)
        return self._feedforward(x, cache.attend(q, positions))

    def _qkv(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = self.qkv(self.attention_norm(x)).chunk(3, 1)
        return q, k, v

    def _feedforward(self, x: Tensor, attended: Tensor) -> Tensor:
        x = x + self.dropout(attended)
        inner = self.dropout(F.relu(self.first(self.feedforward_norm(x))))
        return x + self.dropout(self.second(inner))  # type: ignore[no-any-return]


class SasRec(IncrementalModel):
    name: ClassVar[str] = "sasrec"
    title: ClassVar[str] = "SASRec"
    layer: ClassVar[type[nn.Module]] = Layer

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

    def read_first(self, tokens: Tokens, last: Tensor, room: int) -> tuple[Tensor, list[Any]]:
        x, shape = self.embedded(tokens).flatten(0, 1), tuple(tokens.items.shape)
        states = []
        for layer in self.layers:
            x, state = layer.start(x, shape, last, room)  # type: ignore[operator]
            states.append(state)
        hidden = x.view(*shape, -1)[torch.arange(len(last), device=last.device), last]
        return self.norm(hidden), states

    def read_next(self, x: Tensor, positions: Tensor, state: list[Any]) -> Tensor:
        for layer, of_layer in zip(self.layers, state, strict=True):
            x = layer.step(x, positions, of_layer)  # type: ignore[operator]
        return self.norm(x)  # type: ignore[no-any-return]
