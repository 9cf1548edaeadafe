"""GRU4Rec (Hidasi et al., ICLR 2016): gated recurrent units read the list; the last state predicts the next item."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from fansrec.models.config import SequenceConfig
from fansrec.models.sequence.sequential import IncrementalModel, ItemEmbedding
from fansrec.models.tokens import Tokens


class Gru4Rec(IncrementalModel):
    name: ClassVar[str] = "gru4rec"
    title: ClassVar[str] = "GRU4Rec"

    def __init__(self, config: SequenceConfig) -> None:
        embed = ItemEmbedding(config.alphabet, config.width, config.use_categories, deviation=1.0)
        super().__init__(config, embed, nn.Linear(config.width, config.alphabet.items))
        between = config.dropout if config.layers > 1 else 0.0
        self.gru = nn.GRU(config.width, config.width, config.layers, batch_first=True, dropout=between)

    def read(self, chunks: Sequence[Tokens]) -> Tensor:
        """Return (S, D); padding follows the items of a list, so no state of an item has read it."""
        read = [self.gru(self.dropout(self.embedded(tokens)))[0].flatten(0, 1) for tokens in chunks]
        return self.dropout(torch.cat(read))  # type: ignore[no-any-return]

    def read_first(self, tokens: Tokens, last: Tensor, room: int) -> tuple[Tensor, list[Tensor]]:
        packed = pack_padded_sequence(self.embedded(tokens), last.cpu() + 1, batch_first=True, enforce_sorted=False)
        hidden = self.gru(packed)[1]  # (layers, B, D)
        return hidden[-1], [hidden]

    def read_next(self, x: Tensor, positions: Tensor, state: list[Tensor]) -> Tensor:
        state[0] = self.gru(x[:, None], state[0])[1]
        return state[0][-1]
