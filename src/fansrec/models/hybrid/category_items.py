"""The second stage of the classifier of the hybrid model: probabilities of the items of some categories.

B lists, K hidden states of each, b requested categories of each list; m items in n categories, D = `width`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from fansrec.models.layers.transformer import in_full

LOGITS_AT_ONCE = 1 << 24  # 64 MB of fp32


@dataclass(frozen=True)
class FirstStage:
    """What the first stage computes for B lists."""

    hidden: Tensor  # (B, K, D): transformed and scaled
    by_list: Tensor  # (B, n): the probability of every category
    requested: Tensor  # (B, b): the categories whose items are scored
    weights: Tensor  # (B, K, b): the probability of each of them at each hidden state, times the share of the state


@dataclass(frozen=True)
class CategoryItems:
    """The items of consecutive categories."""

    starts: tuple[int, ...]  # category c is items starts[c] to starts[c + 1]
    categories: Tensor  # (m,): of every item
    prior: Tensor  # (m,): probability of an item inside its category
    vectors: Tensor  # (m, D)
    bias: Tensor  # (m,)

    def probabilities(self, stage: FirstStage) -> Tensor:
        """Return the probabilities (B, m); requested categories below 0 or above the last one are ignored."""
        out: Tensor = stage.by_list[:, self.categories] * self.prior
        requested = (c for c in set(stage.requested.flatten().tolist()) if 0 <= c < len(self.starts) - 1)
        for category in sorted(requested):
            rows, columns = (stage.requested == category).nonzero(as_tuple=True)
            among = slice(self.starts[category], self.starts[category + 1])
            weights = stage.weights[rows, :, columns]  # (R, K)
            out[rows, among] = mean_probabilities(stage.hidden[rows], weights, self.vectors[among], self.bias[among])
        return out


def mean_probabilities(hidden: Tensor, weights: Tensor, vectors: Tensor, bias: Tensor) -> Tensor:
    """Return the sum (R, m) over hidden states (R, K, D), with `weights` (R, K), of the softmax over m items."""
    step = max(1, LOGITS_AT_ONCE // max(1, hidden.shape[1] * len(vectors)))
    means = []
    for some in range(0, len(hidden), step):
        logits = in_full(F.linear(hidden[some : some + step], vectors, bias))  # (R, K, m)
        means.append((weights[some : some + step, None].to(logits) @ logits.softmax(2)).squeeze(1))
    return torch.cat(means) if len(means) > 1 else means[0]
