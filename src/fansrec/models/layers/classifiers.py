"""The vanilla classifier, and what both kinds of classifier give."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from fansrec.models.layers.cross_entropy import grouped_cross_entropy
from fansrec.models.layers.transformer import Transform, in_full
from fansrec.models.tokens import Batch

Reduce = Callable[[Tensor], Tensor]  # sums a tensor over all processes that train together


@dataclass(frozen=True)
class Loss:
    """What training minimises, and a number worth watching."""

    total: Tensor  # ()
    category_hits: Tensor  # (): masked positions whose category was predicted right


@dataclass(frozen=True)
class Blocked:
    """Items that may not be answered, for positions of several lists."""

    items: Tensor  # (B, M) bool
    lists: Tensor  # (P,): the list of each position

    def fill(self, scores: Tensor, rows: Tensor | slice, items: slice) -> Tensor:
        """The scores of these `rows` of positions, -inf where an item is blocked."""
        return scores.masked_fill_(self.items[self.lists[rows], items], -torch.inf)


class Classifier(Protocol):
    """From the encoder's output at masked positions to items."""

    ranks: int  # how many times `scores` can be asked for further items
    items: nn.Linear  # the projection to the items, in category order

    def loss(self, hidden: Tensor, batch: Batch, reduce: Reduce) -> Loss: ...

    def scores(self, hidden: Tensor, rank: int) -> Tensor: ...

    def best(self, hidden: Tensor, rank: int, count: int, blocked: Blocked | None) -> tuple[Tensor, Tensor]:
        """Scores and items, (P, L) each, L <= `count`: the best of `scores` that are not blocked, in order."""
        ...


def one_softmax_loss(hidden: Tensor, weight: Tensor, bias: Tensor, batch: Batch) -> Loss:
    """The mean cross-entropy over all items at all places of the whole batch; (P, D) and (M, D)."""
    everything = (slice(0, len(hidden)), slice(0, len(weight)))
    scale = torch.full((1,), 1 / batch.positions, device=hidden.device)
    total = grouped_cross_entropy(hidden, weight, bias, batch.labels, [everything], scale)
    return Loss(total, torch.zeros((), device=hidden.device))


class VanillaClassifier(nn.Module):
    """One softmax over all items."""

    ranks = 1

    def __init__(self, width: int, items: int) -> None:
        super().__init__()
        self.transform = Transform(width)
        self.items = nn.Linear(width, items)

    def loss(self, hidden: Tensor, batch: Batch, reduce: Reduce) -> Loss:  # (P, D)
        return one_softmax_loss(self.transform(hidden), self.items.weight, self.items.bias, batch)

    def scores(self, hidden: Tensor, rank: int) -> Tensor:  # (P, D) -> (P, M)
        """The log-probability of every item at every position."""
        logits: Tensor = self.items(self.transform(hidden))
        return in_full(logits).log_softmax(-1)

    def best(self, hidden: Tensor, rank: int, count: int, blocked: Blocked | None) -> tuple[Tensor, Tensor]:
        scores = self.scores(hidden, rank)
        if blocked is not None:
            blocked.fill(scores, slice(None), slice(None))
        best = scores.topk(min(count, scores.shape[1]), dim=1)
        return best.values, best.indices
