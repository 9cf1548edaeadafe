"""CAR (He et al., WSDM 2020) without its user model: SASRec with a consistency-aware gate.

In every layer a gate weighs two views of the list, one by the attention of SASRec, one that is the last item itself.
It looks at a summary of the list and at how far an item lies from the centre of the list up to it: in a consistent list
not far. The original's third view, the user's general preference, needs to know the user and is left out, as in the
FANS paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fansrec.models.layers.transformer import Dropout
from fansrec.models.sequence.causal import Memory, attend_back, centres
from fansrec.models.sequence.sasrec import SasRec, SasRecConfig

VIEWS = 2  # attention, and the last item


@dataclass(frozen=True)
class CarConfig(SasRecConfig):
    pass


@dataclass
class State:
    """What a layer remembers of the lists so far."""

    items: Memory  # for the attention of the last item
    summary: Memory  # for the attention of the gate
    total: Tensor  # (B, D): the sum of all items


class GatedLayer(nn.Module):
    """The gate's mixture of attention and last item, then two linear layers."""

    def __init__(self, config: CarConfig) -> None:
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

    def forward(self, x: Tensor, shapes: Sequence[tuple[int, ...]]) -> Tensor:  # (S, D) -> (S, D)
        last = self.attention_norm(x)
        attended = attend_back(self.query(last), self.key(x), x, self.heads, shapes)
        summary = attend_back(self._ask(x), self.summary_key(x), x, self.heads, shapes)
        return self._after(attended, last, summary, x - centres(x, shapes))

    def start(self, x: Tensor, shape: tuple[int, ...], last: Tensor, room: int) -> tuple[Tensor, State]:
        """The same for one chunk, with what a later item will look back at."""
        keys, summary_keys, values = (y.view(*shape, -1) for y in (self.key(x), self.summary_key(x), x))
        read = torch.arange(shape[1], device=x.device) <= last[:, None]  # (B, T)
        total = (values * read[..., None]).sum(1)
        state = State(Memory(keys, values, self.heads, room), Memory(summary_keys, values, self.heads, room), total)
        return self(x, [shape]), state

    def step(self, x: Tensor, places: Tensor, state: State) -> Tensor:  # (B, D) -> (B, D)
        last = self.attention_norm(x)
        state.items.put(self.key(x), x, places)
        state.summary.put(self.summary_key(x), x, places)
        state.total = state.total + x
        attended, summary = state.items.attend(self.query(last), places), state.summary.attend(self._ask(x), places)
        return self._after(attended, last, summary, x - state.total / (places[:, None] + 1))

    def _ask(self, x: Tensor) -> Tensor:
        """The same question from everywhere: what is this list about?"""
        return self.summary_query.expand_as(x).contiguous()

    def _after(self, attended: Tensor, last: Tensor, summary: Tensor, off_centre: Tensor) -> Tensor:
        weights = self.gate(self.dropout(torch.cat([summary, off_centre.abs()], 1))).softmax(1)
        mixed = self.dropout(attended) * weights[:, :1] + last * weights[:, 1:]
        x = self.feedforward_norm(mixed)
        return x + self.dropout(self.second(self.dropout(F.relu(self.first(x)))))  # type: ignore[no-any-return]


class Car(SasRec):
    name: ClassVar[str] = "car"
    title: ClassVar[str] = "CAR"
    layer: ClassVar[type[nn.Module]] = GatedLayer
