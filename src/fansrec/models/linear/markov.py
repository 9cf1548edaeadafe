"""First-order Markov chain: what stood right behind an item before will do so again, and nothing else matters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fansrec.errors import BadSetting
from fansrec.models.linear.item_weights import Table, shares, strongest
from fansrec.models.linear.popularity import list_counts
from fansrec.models.validation import check_indices


@dataclass(frozen=True)
class MarkovConfig:
    category_starts: tuple[int, ...]
    smoothing: float = 1.0  # how many times an item counts as followed by whatever is popular
    neighbours: int = 200  # followers kept for each item; the others' share goes to whatever is popular

    def __post_init__(self) -> None:
        for name in ("smoothing", "neighbours"):
            if getattr(self, name) <= 0:
                raise BadSetting(f"{name} is {getattr(self, name)}; it must be above 0")


class Markov(nn.Module):
    name: ClassVar[str] = "markov"
    title: ClassVar[str] = "Markov"
    generation: ClassVar[str] = "autoregressive"
    ranks: ClassVar[int] = 1
    followers: Tensor
    chances: Tensor
    others: Tensor
    popularity: Tensor

    def __init__(self, config: MarkovConfig) -> None:
        super().__init__()
        self.config = config
        items = config.category_starts[-1]
        table = Table.empty(items, min(config.neighbours, items))
        self.register_buffer("followers", table.items)
        self.register_buffer("chances", table.weights)  # of the followers
        self.register_buffer("others", torch.ones(items))  # the chance that whatever is popular follows
        self.register_buffer("popularity", torch.zeros(items))

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Count how often an item follows another; list i is `items[offsets[i]:offsets[i + 1]]`."""
        vocabulary = len(self.popularity)
        self.popularity = shares(list_counts(items, offsets, vocabulary))
        befores, afters, counts = _transitions(items, offsets, vocabulary)
        order = self.popularity[afters].argsort(descending=True, stable=True)  # among equals, the popular ones stay
        table = strongest(befores[order], afters[order], counts[order], vocabulary, self.followers.shape[1])
        smoothing = self.config.smoothing
        total = torch.zeros(vocabulary).index_add_(0, befores, counts) + smoothing
        self.followers, self.chances = table.items, table.weights / total[:, None]
        self.others = 1 - self.chances.sum(1)

    def check_arrays(self) -> None:
        check_indices("followers", self.followers, len(self.followers))

    def longest_sequence(self) -> None:
        return None

    def score_next(self, inputs: Sequence[NDArray[np.int64]]) -> Tensor:  # (B, M)
        """The chance of every item to come next; after an empty list or an item never followed, its popularity."""
        device = self.popularity.device
        last = torch.tensor([int(items[-1]) if len(items) else 0 for items in inputs], device=device)
        given = torch.tensor([len(items) > 0 for items in inputs], device=device)[:, None]
        scores = torch.where(given, self.others[last, None], 1.0) * self.popularity
        return scores.scatter_add_(1, self.followers[last].long(), self.chances[last] * given)


def _transitions(
    items: NDArray[np.int32], offsets: NDArray[np.int64], vocabulary: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Every pair of neighbours: the item before, the item after, and how often."""
    inside = np.ones(len(items), dtype=bool)
    inside[offsets[1:] - 1] = False  # the last item of a list has none behind it
    before = np.flatnonzero(inside)
    pairs = items[before].astype(np.int64) * vocabulary + items[before + 1]
    pairs, counts = np.unique(pairs, return_counts=True)
    befores, afters = np.divmod(pairs, vocabulary)
    return torch.from_numpy(befores), torch.from_numpy(afters), torch.from_numpy(counts).float()
