"""FANS without its items: the encoder and the first stage of its classifier, all that a coordinator holds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fansrec.models.fans import Fans, FansConfig
from fansrec.models.layers.transformer import Transform, in_full

ITEMS = "embed.items.weight"
ELSEWHERE = ("classifier.items.", "classifier.local.")  # what the shards have of a model's weights, beside ITEMS


class FetchedItems(nn.Module):
    """In place of the table of items: rows are fetched when they are looked up; those of special tokens are here."""

    def __init__(self, specials: Tensor, items: int, fetch: Callable[[NDArray[np.int64]], object]) -> None:
        super().__init__()
        self.weight = nn.Parameter(specials, requires_grad=False)  # (4, D)
        self.items, self.fetch = items, fetch

    def forward(self, tokens: Tensor) -> Tensor:
        numbers, places = torch.unique(tokens, return_inverse=True)  # rising, so that the specials are last
        known = numbers < self.items
        specials = self.weight[numbers[~known] - self.items]
        fetched = self.fetch(numbers[known].cpu().numpy())
        rows = specials if fetched is None else torch.cat([torch.as_tensor(fetched).to(specials), specials])
        return rows[places]


class FirstStage(nn.Module):
    """The category classifier of `TwoStageClassifier`."""

    def __init__(self, width: int, categories: int) -> None:
        super().__init__()
        self.ranks = categories
        self.transform = Transform(width)
        self.category = nn.Linear(width, categories)

    def ranked(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """(P, N) each: log-probabilities of all categories, highest first, and which they are."""
        chances, categories = (
            in_full(self.category(self.transform(hidden))).log_softmax(1).sort(dim=1, descending=True, stable=True)
        )
        return chances, categories


class TokenCategories:
    """What `tokens.token_categories` has in a table of all items, found from where the categories start."""

    def __init__(self, starts: Sequence[int]) -> None:
        self._ends = np.array(starts[1:], dtype=np.int64)

    def __getitem__(self, tokens: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._ends.searchsorted(tokens, side="right")  # of special tokens, which come after all items: N


def without_items(
    config: FansConfig, weights: Mapping[str, Tensor], fetch: Callable[[NDArray[np.int64]], object]
) -> Fans:
    """`weights` are all but those of `ELSEWHERE`, and under `ITEMS` only the rows of special tokens."""
    categories = len(config.category_starts) - 1
    with torch.device("meta"):  # made with an item a category, so that nothing of the catalogue's size ever is
        model = Fans(replace(config, category_starts=tuple(range(categories + 1))))
        model.classifier = FirstStage(config.width, categories)  # type: ignore[assignment]
        model.embed.items = FetchedItems(torch.empty(4, config.width), config.alphabet.items, fetch)  # type: ignore[assignment]
    model.config = config
    model._categories = TokenCategories(config.category_starts)  # type: ignore[assignment]
    model.load_state_dict({name: weight.float() for name, weight in weights.items()}, assign=True)
    model.train(False)
    return model
