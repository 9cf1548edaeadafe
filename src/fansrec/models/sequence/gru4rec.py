"""GRU4Rec (Hidasi et al., ICLR 2016): gated recurrent units read the list; the last state predicts the next item."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from fansrec.models.config import SequenceConfig
from fansrec.models.sequence.sequential import IncrementalSteps, ItemEmbedding, NextItemModel
from fansrec.models.tokens import Tokens


@dataclass(frozen=True)
class Gru4RecConfig(SequenceConfig):
    pass


@dataclass
class State:
    hidden: Tensor  # (layers, B, D)


class Gru4Rec(NextItemModel):
    name: ClassVar[str] = "gru4rec"
    title: ClassVar[str] = "GRU4Rec"

    def __init__(self, config: Gru4RecConfig) -> None:
        embed = ItemEmbedding(config.alphabet, config.width, config.use_categories, deviation=1.0)
        super().__init__(config, embed, nn.Linear(config.width, config.alphabet.items))
        between = config.dropout if config.layers > 1 else 0.0
        self.gru = nn.GRU(config.width, config.width, config.layers, batch_first=True, dropout=between)

    def read(self, chunks: Sequence[Tokens]) -> Tensor:
        """Return (S, D); padding follows the items of a list, so no state of an item has read it."""
        read = [self.gru(self.dropout(self.embedded(tokens)))[0].flatten(0, 1) for tokens in chunks]
        return self.dropout(torch.cat(read))  # type: ignore[no-any-return]

    def begin(self, inputs: Sequence[NDArray[np.int64]], room: int) -> IncrementalSteps:
        return IncrementalSteps(self, inputs, room)

    def read_first(self, tokens: Tokens, last: Tensor, room: int) -> tuple[Tensor, State]:
        packed = pack_padded_sequence(self.embedded(tokens), last.cpu() + 1, batch_first=True, enforce_sorted=False)
        hidden = self.gru(packed)[1]
        return hidden[-1], State(hidden)

    def read_next(self, x: Tensor, positions: Tensor, state: State) -> Tensor:
        state.hidden = self.gru(x[:, None], state.hidden)[1]
        return state.hidden[-1]
