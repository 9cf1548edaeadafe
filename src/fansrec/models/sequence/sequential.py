"""What models that read a list from left to right share: item embeddings, the prediction of the next item, steps.

Such a model reads START item item … and predicts at every position which item comes next.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from fansrec.models.alphabet import Alphabet, token_categories
from fansrec.models.config import longest_sequence
from fansrec.models.contract import Inputs, Steps
from fansrec.models.layers.classifiers import Loss, Reduce, one_softmax_loss
from fansrec.models.layers.transformer import Dropout, in_full, init_normal
from fansrec.models.tokens import Batch, Tokens, in_a_row


class ItemEmbedding(nn.Module):
    """The sum of item embeddings and, where a model uses them, category and position embeddings."""

    def __init__(
        self, alphabet: Alphabet, width: int, use_categories: bool, deviation: float, positions: int | None = None
    ) -> None:
        super().__init__()
        self.items = _embedding(alphabet.size, width, deviation, alphabet.pad)
        self.categories = (
            _embedding(alphabet.categories + 1, width, deviation, alphabet.no_category) if use_categories else None
        )
        self.positions = _embedding(positions, width, deviation) if positions is not None else None

    def forward(self, items: Tensor, categories: Tensor, positions: Tensor) -> Tensor:
        """Return the embeddings (…, D) of tokens of any shape at these positions of their lists."""
        x = self.items(items)
        if self.categories is not None:
            x = x + self.categories(categories)
        if self.positions is not None:  # positions beyond the trained ones share the last
            x = x + self.positions(positions.clamp(max=self.positions.num_embeddings - 1))
        return x  # type: ignore[no-any-return]


def _embedding(rows: int, width: int, deviation: float, padding: int | None = None) -> nn.Embedding:
    embedding = nn.Embedding(rows, width, padding_idx=padding)
    init_normal(embedding, deviation)
    return embedding


class NextItemModel(nn.Module):
    """A model that predicts the next item; a subclass defines how it reads the items before.

    It has `embed` and, unless it scores items by their embeddings, an output layer `choice`.
    """

    ranks: ClassVar[int] = 1
    generation: ClassVar[str] = "autoregressive"
    objective: ClassVar[str] = "next-item"
    category_of: Tensor

    def __init__(self, config: Any, embed: ItemEmbedding, choice: nn.Linear | None) -> None:
        super().__init__()
        self.config = config
        self.embed = embed
        self.choice = choice
        self.dropout = Dropout(config.dropout)
        self._categories = token_categories(config.category_starts)
        self.register_buffer("category_of", torch.from_numpy(self._categories), persistent=False)

    def read(self, chunks: Sequence[Tokens]) -> Tensor:
        """Return the hidden states (S, D) at all tokens of all chunks."""
        raise NotImplementedError

    def embedded(self, tokens: Tokens) -> Tensor:  # (B, T, D)
        positions = torch.arange(tokens.items.shape[1], device=tokens.items.device)
        embedded: Tensor = self.embed(tokens.items, tokens.categories, positions)
        return embedded

    def projection(self) -> tuple[Tensor, Tensor]:
        """Return the weights (M, D) and biases (M,) of the output layer."""
        if self.choice is not None:
            return self.choice.weight, self.choice.bias
        items = self.embed.items.weight[: self.config.alphabet.items]
        return items, items.new_zeros(len(items))

    def forward(self, batch: Batch, reduce: Reduce = lambda counts: counts) -> Loss:
        return one_softmax_loss(self.read(batch.chunks)[batch.label_positions], *self.projection(), batch)

    def longest_sequence(self) -> int | None:
        return longest_sequence(self.config)

    def tokens(self, inputs: Inputs) -> tuple[Tokens, Tensor]:
        """Return the tokens of START and each input, and the position (B,) of the last token of each."""
        lists = [np.append(self.config.alphabet.cls, items) for items in inputs]
        lengths = np.array([len(items) for items in lists])
        tokens = in_a_row(lengths, np.concatenate(lists).astype(np.int64), self._categories, self.config.alphabet)
        device = self.embed.items.weight.device
        return tokens.to(device), torch.from_numpy(lengths - 1).to(device)

    def score_next(self, inputs: Inputs) -> Tensor:
        """Return the scores (B, M) of the next item."""
        tokens, last = self.tokens(inputs)
        hidden = self.read([tokens]).view(*tokens.items.shape, -1)  # (B, T, D)
        return self.scores(hidden[torch.arange(len(last), device=last.device), last])

    def scores(self, hidden: Tensor) -> Tensor:
        """Return log-probabilities (B, M) of the next item for hidden states (B, D)."""
        logits = nn.functional.linear(hidden, *self.projection())
        return in_full(logits).log_softmax(-1)


class IncrementalModel(NextItemModel):
    """A model that can read one more item without reading the list again."""

    def begin(self, inputs: Inputs, room: int) -> Steps:
        return IncrementalSteps(self, inputs, room)

    def read_first(self, tokens: Tokens, last: Tensor, room: int) -> tuple[Tensor, Any]:
        """Return the hidden states (B, D) at the `last` position of each list, and a state with `room` for more."""
        raise NotImplementedError

    def read_next(self, x: Tensor, positions: Tensor, state: Any) -> Tensor:
        """Return the hidden states (B, D) after one more embedded token (B, D) at `positions`; changes the state."""
        raise NotImplementedError


class IncrementalSteps(Steps):
    """Steps that read one more item instead of the whole list again."""

    def __init__(self, model: IncrementalModel, inputs: Inputs, room: int) -> None:
        self.model = model
        tokens, self.last = model.tokens(inputs)
        self.hidden, self.state = model.read_first(tokens, self.last, room)

    def scores(self) -> Tensor:
        return self.model.scores(self.hidden)

    def append(self, items: Tensor) -> None:
        items, self.last = items.clamp(min=0), self.last + 1  # what a list that has ended reads does not matter
        x = self.model.embed(items, self.model.category_of[items], self.last)
        self.hidden = self.model.read_next(x, self.last, self.state)
