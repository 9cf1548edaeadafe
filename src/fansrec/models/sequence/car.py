"""CAR (He et al., WSDM 2020) without its user model: SASRec with a consistency-aware gate.

In every layer a gate weights two views of the list: the attention of SASRec, and the last item itself. Its inputs are a
summary of the list and the distance of an item from the mean of the list up to it, which is small in a consistent list.
The original's third view, the user's general preference, requires the user and is left out, as in the FANS paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fansrec.models.layers.transformer import Dropout
from fansrec.models.sequence.config import SasRecConfig
from fansrec.models.sequence.sasrec import KeyValueCache, SasRec, causal_attention

VIEWS = 2  # attention, and the last item


@dataclass
class State:
    """What a layer keeps of the lists read so far."""

    items: KeyValueCache  # for the attention of the last item
    summary: KeyValueCache  # for the attention of the gate
    total: Tensor  # (B, D): the sum of all items


class GatedLayer(nn.Module):
    """The gate's mixture of attention and last item, then two linear layers."""

    def __init__(self, config: SasRecConfig) -> None:
        super().__init__()
        self.heads, width = config.heads, config.width
        self.attention_norm = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.summary_query = nn.Parameter(torch.randn(width) * width**-0.5)
        self.summary_key = nn.Linear(width, width)
        self.gate = nn.Linear(2 * width, VIEWS)
        self.feedforward_norm = nn.LayerNorm(width)
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, shapes: Sequence[tuple[int, ...]]) -> Tensor:
        """Return (S, D) for the tokens (S, D) of chunks of these shapes."""
        last = self.attention_norm(x)
        attended = causal_attention(self.query(last), self.key(x), x, self.heads, shapes)
        summary = causal_attention(self._summary_queries(x), self.summary_key(x), x, self.heads, shapes)
        return self._gated(attended, last, summary, x - running_means(x, shapes))

    def start(self, x: Tensor, shape: tuple[int, ...], last: Tensor, room: int) -> tuple[Tensor, State]:
        """Return the same for one chunk, and the state for later items."""
        keys, summary_keys, values = (y.view(*shape, -1) for y in (self.key(x), self.summary_key(x), x))
        read = torch.arange(shape[1], device=x.device) <= last[:, None]  # (B, T)
        items, summary = (KeyValueCache(some, values, self.heads, room) for some in (keys, summary_keys))
        return self(x, [shape]), State(items, summary, (values * read[..., None]).sum(1))

    def step(self, x: Tensor, positions: Tensor, state: State) -> Tensor:
        """Return (B, D) for one more token (B, D) of each list."""
        last = self.attention_norm(x)
        state.items.put(self.key(x), x, positions)
        state.summary.put(self.summary_key(x), x, positions)
        state.total = state.total + x
        attended = state.items.attend(self.query(last), positions)
        summary = state.summary.attend(self._summary_queries(x), positions)
        return self._gated(attended, last, summary, x - state.total / (positions[:, None] + 1))

    def _summary_queries(self, x: Tensor) -> Tensor:
        """Return the learned query of the list summary, the same at every position."""
        return self.summary_query.expand_as(x).contiguous()

    def _gated(self, attended: Tensor, last: Tensor, summary: Tensor, off_mean: Tensor) -> Tensor:
        weights = self.gate(self.dropout(torch.cat([summary, off_mean.abs()], 1))).softmax(1)
        mixed = self.dropout(attended) * weights[:, :1] + last * weights[:, 1:]
        x = self.feedforward_norm(mixed)
        return x + self.dropout(self.second(self.dropout(F.relu(self.first(x)))))  # type: ignore[no-any-return]


class Car(SasRec):
    name: ClassVar[str] = "car"
    title: ClassVar[str] = "CAR"
    layer: ClassVar[type[nn.Module]] = GatedLayer


def running_means(x: Tensor, shapes: Sequence[tuple[int, ...]]) -> Tensor:
    """Return (S, D): the mean of each token and those before it in its list."""
    means = []
    for shape, part in zip(shapes, torch.split(x, [lists * tokens for lists, tokens in shapes]), strict=True):
        counts = torch.arange(1, shape[1] + 1, device=x.device)[:, None]
        means.append((part.view(*shape, -1).cumsum(1) / counts).flatten(0, 1))
    return torch.cat(means)
