"""The interface of classifiers at masked positions, and the vanilla one: a softmax over all items."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from fansrec.models.layers.cross_entropy import grouped_cross_entropy
from fansrec.models.layers.transformer import Transform, in_full
from fansrec.models.tokens import Batch

Reduce = Callable[[Tensor], Tensor]  # returns the sum of a tensor over all training processes


@dataclass(frozen=True)
class Loss:
    """The training loss, and a number that is reported beside it."""

    total: Tensor  # ()
    category_hits: Tensor  # (): number of masked positions whose category was predicted right


@dataclass(frozen=True)
class Blocked:
    """Items that may not be chosen, for the positions of several lists."""

    items: Tensor  # (B, M) bool
    lists: Tensor  # (P,): the list of each position

    def fill(self, scores: Tensor, rows: Tensor | slice, items: slice) -> Tensor:
        """Set the scores (R, m) of blocked items to -inf in place: positions `rows`, items of a slice; return them."""
        return scores.masked_fill_(self.items[self.lists[rows], items], -torch.inf)


class Classifier(Protocol):
    """Maps the encoder's output at masked positions to items."""

    ranks: int  # how many ranks `scores` has; together they score every item once
    items: nn.Linear  # output layer over all items, in category order

    def loss(self, hidden: Tensor, batch: Batch, reduce: Reduce) -> Loss:
        """Return the training loss of hidden states (P, D)."""
        ...

    def scores(self, hidden: Tensor, rank: int) -> Tensor:
        """Return the scores (P, M) of a rank for hidden states (P, D)."""
        ...

    def best(self, hidden: Tensor, rank: int, count: int, blocked: Blocked | None) -> tuple[Tensor, Tensor]:
        """Return the best scores that are not blocked, in order, and their items: (P, L) each, L <= `count`."""
        ...


def one_softmax_loss(hidden: Tensor, weight: Tensor, bias: Tensor, batch: Batch) -> Loss:
    """Return the mean cross-entropy of a softmax over all items; hidden states (P, D), output weights (M, D)."""
    everything = (slice(0, len(hidden)), slice(0, len(weight)))
    scale = torch.full((1,), 1 / batch.positions, device=hidden.device)
    total = grouped_cross_entropy(hidden, weight, bias, batch.labels, [everything], scale)
    return Loss(total, torch.zeros((), device=hidden.device))


class VanillaClassifier(nn.Module):
    """One softmax over all items (paper, eq. 8)."""

    ranks = 1

    def __init__(self, width: int, items: int) -> None:
        super().__init__()
        self.transform = Transform(width)
        self.items = nn.Linear(width, items)

    def loss(self, hidden: Tensor, batch: Batch, reduce: Reduce) -> Loss:
        return one_softmax_loss(self.transform(hidden), self.items.weight, self.items.bias, batch)

    def scores(self, hidden: Tensor, rank: int) -> Tensor:  # (P, D) -> (P, M)
        """Return the log-probability of every item at every position."""
        logits: Tensor = self.items(self.transform(hidden))
        return in_full(logits).log_softmax(-1)

    def best(self, hidden: Tensor, rank: int, count: int, blocked: Blocked | None) -> tuple[Tensor, Tensor]:
        scores = self.scores(hidden, rank)
        if blocked is not None:
            blocked.fill(scores, slice(None), slice(None))
        best = scores.topk(min(count, scores.shape[1]), dim=1)
        return best.values, best.indices
