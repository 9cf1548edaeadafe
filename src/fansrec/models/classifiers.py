"""The vanilla classifier, and what both kinds of classifier give."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from fansrec.models.blocks import Transform
from fansrec.models.cross_entropy import grouped_cross_entropy
from fansrec.tokens import Batch

Reduce = Callable[[Tensor], Tensor]  # sums a tensor over all processes that train together


@dataclass(frozen=True)
class Loss:
    """What training minimises, and a number worth watching."""

    total: Tensor  # ()
    category_hits: Tensor  # (): masked positions whose category was predicted right


class Classifier(Protocol):
    """From the encoder's output at masked positions to items."""

    ranks: int  # how many times `scores` can be asked for further items
    items: nn.Linear  # the projection to the items, in category order

    def loss(self, hidden: Tensor, batch: Batch, reduce: Reduce) -> Loss: ...

    def scores(self, hidden: Tensor, rank: int) -> Tensor: ...


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
        return logits.float().log_softmax(-1)
