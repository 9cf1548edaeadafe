"""FANS without its items: the encoder and the first stage of the classifier, which is all that a coordinator holds."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fansrec.engine.interface import CategoryLookup
from fansrec.models.fans import Fans, FansConfig
from fansrec.models.layers.transformer import Transform, in_full

ITEMS = "embed.items.weight"
ELSEWHERE = ("classifier.items.", "classifier.local.")  # the weights that the shards hold, besides ITEMS


class FetchedItems(nn.Module):
    """Replaces the item table: rows are fetched when they are looked up; those of the special tokens are held here."""

    def __init__(self, specials: Tensor, items: int, fetch: Callable[[NDArray[np.int64]], object]) -> None:
        super().__init__()
        self.weight = nn.Parameter(specials, requires_grad=False)  # (4, D)
        self.items, self.fetch = items, fetch

    def forward(self, tokens: Tensor) -> Tensor:
        indices, inverse = torch.unique(tokens, return_inverse=True)  # ascending, so that the specials come last
        is_item = indices < self.items
        specials = self.weight[indices[~is_item] - self.items]
        fetched = self.fetch(indices[is_item].cpu().numpy())
        rows = specials if fetched is None else torch.cat([torch.as_tensor(fetched).to(specials), specials])
        return rows[inverse]


class FirstStage(nn.Module):
    """The category classifier of `TwoStageClassifier`."""

    def __init__(self, width: int, categories: int) -> None:
        super().__init__()
        self.ranks = categories
        self.transform = Transform(width)
        self.category = nn.Linear(width, categories)

    def ranked(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-probabilities of all categories, highest first, and the categories, (P, N) each."""
        log_probabilities = in_full(self.category(self.transform(hidden))).log_softmax(1)
        ranked = log_probabilities.sort(dim=1, descending=True, stable=True)
        return ranked.values, ranked.indices


def without_items(
    config: FansConfig, weights: Mapping[str, Tensor], fetch: Callable[[NDArray[np.int64]], object]
) -> Fans:
    """Return FANS without items; `weights` has all but `ELSEWHERE`, and under `ITEMS` only rows of special tokens."""
    categories = len(config.category_starts) - 1
    with torch.device("meta"):  # one item per category, so that nothing of the catalog's size is allocated
        model = Fans(replace(config, category_starts=tuple(range(categories + 1))))
        model.classifier = FirstStage(config.width, categories)  # type: ignore[assignment]
        model.embed.items = FetchedItems(torch.empty(4, config.width), config.alphabet.items, fetch)  # type: ignore[assignment]
    model.config = config
    model._categories = CategoryLookup(config.category_starts)  # type: ignore[assignment]
    model.load_state_dict({name: weight.float() for name, weight in weights.items()}, assign=True)
    model.train(False)
    return model
