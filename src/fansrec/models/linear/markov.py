"""First-order Markov chain: the next item depends on the last one only."""

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.models.contract import Inputs
from fansrec.models.linear.config import MarkovConfig
from fansrec.models.linear.item_weights import Table, shares, strongest
from fansrec.models.linear.popularity import ClosedFormModel, list_counts
from fansrec.models.validation import check_indices


class Markov(ClosedFormModel):
    name: ClassVar[str] = "markov"
    title: ClassVar[str] = "Markov"
    log_scores: ClassVar[bool] = False
    generation: ClassVar[str] = "autoregressive"
    followers: Tensor
    chances: Tensor
    others: Tensor
    popularity: Tensor

    def __init__(self, config: MarkovConfig) -> None:
        super().__init__(config)
        items = config.category_starts[-1]
        table = Table.empty(items, min(config.neighbours, items))
        self.register_buffer("followers", table.items)
        self.register_buffer("chances", table.weights)  # transition probabilities to the followers
        self.register_buffer("others", torch.ones(items))  # probability of a transition by popularity
        self.register_buffer("popularity", torch.zeros(items))

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Count how often an item follows another in the lists `items[offsets[i]:offsets[i + 1]]`."""
        vocabulary = len(self.popularity)
        self.popularity = shares(list_counts(items, offsets, vocabulary))
        befores, afters, counts = _transitions(items, offsets, vocabulary)
        order = self.popularity[afters].argsort(descending=True, stable=True)  # of equal counts, the popular are kept
        table = strongest(befores[order], afters[order], counts[order], vocabulary, self.followers.shape[1])
        smoothing = self.config.smoothing
        total = torch.zeros(vocabulary).index_add_(0, befores, counts) + smoothing
        self.followers, self.chances = table.items, table.weights / total[:, None]
        self.others = 1 - self.chances.sum(1)

    def check_arrays(self) -> None:
        check_indices("followers", self.followers, len(self.followers))

    def score_next(self, inputs: Inputs) -> Tensor:
        """Return the probability (B, M) of every next item: its popularity after an empty list or an unseen item."""
        device = self.popularity.device
        last = torch.tensor([int(items[-1]) if len(items) else 0 for items in inputs], device=device)
        given = torch.tensor([len(items) > 0 for items in inputs], device=device)[:, None]
        scores = torch.where(given, self.others[last, None], 1.0) * self.popularity
        return scores.scatter_add_(1, self.followers[last].long(), self.chances[last] * given)


def _transitions(
    items: NDArray[np.int32], offsets: NDArray[np.int64], vocabulary: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return all pairs of adjacent items: the first, the second, and their count."""
    inside = np.ones(len(items), dtype=bool)
    inside[offsets[1:] - 1] = False  # nothing follows the last item of a list
    before = np.flatnonzero(inside)
    pairs = items[before].astype(np.int64) * vocabulary + items[before + 1]
    pairs, counts = np.unique(pairs, return_counts=True)
    befores, afters = np.divmod(pairs, vocabulary)
    return torch.from_numpy(befores), torch.from_numpy(afters), torch.from_numpy(counts).float()
