"""What models that read a list from left to right share: how they see items, how they tell the next one, their steps.

Such a model reads START item item … and tells at every place which item comes next.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fansrec.models.contract import Steps
from fansrec.models.layers.classifiers import Loss, Reduce, one_softmax_loss
from fansrec.models.layers.encoder import longest_sequence
from fansrec.models.layers.transformer import Dropout, in_full
from fansrec.models.tokens import Alphabet, Batch, Tokens, in_a_row, token_categories


class ItemEmbedding(nn.Module):
    """The sum of item and category embeddings, and of positions where a model needs to be told them."""

    def __init__(
        self, alphabet: Alphabet, width: int, use_categories: bool, deviation: float, positions: int | None = None
    ) -> None:
        super().__init__()
        self.items = _started(nn.Embedding(alphabet.size, width, padding_idx=alphabet.pad), deviation)
        self.categories = (
            _started(nn.Embedding(alphabet.categories + 1, width, padding_idx=alphabet.no_category), deviation)
            if use_categories
            else None
        )
        self.positions = _started(nn.Embedding(positions, width), deviation) if positions is not None else None

    def forward(self, items: Tensor, categories: Tensor, places: Tensor) -> Tensor:
        """Tokens of any shape, and where each stands in its list, to the same with a width."""
        x = self.items(items)
        if self.categories is not None:
            x = x + self.categories(categories)
        if self.positions is not None:  # places beyond the trained ones share the last
            x = x + self.positions(places.clamp(max=self.positions.num_embeddings - 1))
        return x  # type: ignore[no-any-return]


def _started(embedding: nn.Embedding, deviation: float) -> nn.Embedding:
    nn.init.normal_(embedding.weight, std=deviation)
    if embedding.padding_idx is not None:
        with torch.no_grad():
            embedding.weight[embedding.padding_idx].zero_()
    return embedding


class NextItemModel(nn.Module):
    """A model that tells the next item; its own file says how it reads what came before.

    It has `embed` and, unless they are the item embeddings themselves, the weights of its choice in `choice`.
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
        """(S, D): what is known at every token of all chunks."""
        raise NotImplementedError

    def embedded(self, tokens: Tokens) -> Tensor:  # (B, T, D)
        places = torch.arange(tokens.items.shape[1], device=tokens.items.device)
        embedded: Tensor = self.embed(tokens.items, tokens.categories, places)
        return embedded

    def projection(self) -> tuple[Tensor, Tensor]:
        """(M, D) and (M,): what turns knowledge into scores of items."""
        if self.choice is not None:
            return self.choice.weight, self.choice.bias
        items = self.embed.items.weight[: self.config.alphabet.items]
        return items, items.new_zeros(len(items))

    def forward(self, batch: Batch, reduce: Reduce = lambda counts: counts) -> Loss:
        return one_softmax_loss(self.read(batch.chunks)[batch.places], *self.projection(), batch)

    def longest_sequence(self) -> int | None:
        return longest_sequence(self.config.positions)

    def tokens(self, inputs: Sequence[NDArray[np.int64]]) -> tuple[Tokens, Tensor]:
        """The inputs behind a START, and the place of the last token of each."""
        lists = [np.append(self.config.alphabet.cls, items) for items in inputs]
        lengths = np.array([len(items) for items in lists])
        tokens = in_a_row(lengths, np.concatenate(lists).astype(np.int64), self._categories, self.config.alphabet)
        device = self.embed.items.weight.device
        return tokens.to(device), torch.from_numpy(lengths - 1).to(device)

    def score_next(self, inputs: Sequence[NDArray[np.int64]]) -> Tensor:
        tokens, last = self.tokens(inputs)
        known = self.read([tokens]).view(*tokens.items.shape, -1)  # (B, T, D)
        return self.scores(known[torch.arange(len(last), device=last.device), last])

    def scores(self, known: Tensor) -> Tensor:  # (B, D) -> (B, M)
        logits = nn.functional.linear(known, *self.projection())
        return in_full(logits).log_softmax(-1)


class Reader(Protocol):
    """A model that can go on reading where it stopped."""

    category_of: Tensor
    embed: ItemEmbedding

    def tokens(self, inputs: Sequence[NDArray[np.int64]]) -> tuple[Tokens, Tensor]: ...

    def scores(self, known: Tensor) -> Tensor: ...

    def start_reading(self, tokens: Tokens, last: Tensor, room: int) -> tuple[Tensor, Any]:
        """What is known at the `last` place of each list, (B, D), and the state to go on from, with `room` for more."""
        ...

    def read_on(self, x: Tensor, places: Tensor, state: Any) -> Tensor:
        """The same after one more token each: embedded as (B, D), standing at `places`; changes the state."""
        ...


class ReadOn(Steps):
    """Steps that read one more item instead of the whole list again."""

    def __init__(self, model: Reader, inputs: Sequence[NDArray[np.int64]], room: int) -> None:
        self.model = model
        tokens, self.last = model.tokens(inputs)
        self.known, self.state = model.start_reading(tokens, self.last, room)

    def scores(self) -> Tensor:
        return self.model.scores(self.known)

    def append(self, items: Tensor) -> None:
        items, self.last = items.clamp(min=0), self.last + 1  # a list that has ended may read anything
        x = self.model.embed(items, self.model.category_of[items], self.last)
        self.known = self.model.read_on(x, self.last, self.state)
