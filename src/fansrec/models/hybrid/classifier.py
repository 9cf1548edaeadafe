"""The classifier of the hybrid model: the paper's two stages with tied embeddings and a proper likelihood.

Items are scored by their input embeddings. The probability of an item is that of its category times its own inside it,
and training maximizes exactly that: every masked item trains the classifier of its own category, whether or not that
category was predicted. At inference, an item's probability is its mean over all positions.
"""

from itertools import accumulate, pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fansrec.models.alphabet import token_categories
from fansrec.models.hybrid.category_items import CategoryItems, FirstStage, mean_probabilities
from fansrec.models.layers.classifiers import Loss, one_softmax_loss
from fansrec.models.layers.cross_entropy import grouped_cross_entropy
from fansrec.models.layers.transformer import Transform, in_full
from fansrec.models.tokens import Batch


class TiedClassifier(nn.Module):
    """Scores items by their embeddings (M, D), which are passed to every call.

    `requested` is the number of categories whose items are scored for a list; 0: one softmax over all items.
    """

    categories: Tensor
    prior: Tensor

    def __init__(self, width: int, category_starts: tuple[int, ...], requested: int, transform: bool) -> None:
        super().__init__()
        self.starts, self.requested = category_starts, min(requested, len(category_starts) - 1)
        self.transform = Transform(width) if transform else nn.Identity()
        self.category = nn.Linear(width, len(category_starts) - 1) if requested else None
        # Hidden states have the length sqrt(D). With a scale of 1 the first predictions would be certain and wrong, and
        # the starting vectors would be lost in the first steps.
        self.scale = nn.Parameter(torch.tensor(width**-0.5))
        self.bias = nn.Parameter(torch.zeros(category_starts[-1]))
        items = category_starts[-1]
        categories = torch.from_numpy(token_categories(category_starts)[:items])  # of every item
        self.register_buffer("categories", categories, persistent=False)
        self.register_buffer("prior", torch.zeros(items))  # probability of an item inside its category

    def start(self, counts: Tensor) -> None:
        """Initialize biases and prior from `counts` (M,), how often each item is in the training lists."""
        smooth = counts.float() + 1
        self.bias.data = (smooth / smooth.sum()).log()
        sums = torch.stack([smooth[start:end].sum() for start, end in pairwise(self.starts)])
        self.prior = smooth / sums[self.categories.cpu()]

    def loss(self, hidden: Tensor, items: Tensor, batch: Batch) -> Loss:
        """Return the mean negative log-likelihood for hidden states (P, D) and item embeddings (M, D)."""
        hidden = self.transform(hidden)
        if self.category is None:
            return one_softmax_loss(self.scale * hidden, items, self.bias, batch)
        categories = self.categories[batch.labels]
        logits = in_full(self.category(hidden))  # (P, N)
        total = F.cross_entropy(logits, categories, reduction="sum") / batch.positions
        total = total + self._inside(self.scale * hidden, items, categories, batch)
        return Loss(total, (logits.argmax(1) == categories).sum())

    def _inside(self, hidden: Tensor, items: Tensor, categories: Tensor, batch: Batch) -> Tensor:
        """Return the loss of the labels among the items of their own categories."""
        scale = torch.full((1,), 1 / batch.positions, device=hidden.device)
        if hidden.is_cuda:  # one product with all items is faster there than one for each category
            everything = [(slice(0, len(hidden)), slice(0, len(items)))]
            return grouped_cross_entropy(hidden, items, self.bias, batch.labels, everything, scale, self.categories)
        order = categories.argsort(stable=True)
        ends = [0, *accumulate(torch.bincount(categories, minlength=len(self.starts) - 1).tolist())]
        groups = [
            (slice(first, last), slice(*bounds))
            for (first, last), bounds in zip(pairwise(ends), pairwise(self.starts), strict=True)
            if first < last
        ]
        return grouped_cross_entropy(
            hidden[order], items, self.bias, batch.labels[order], groups, scale.expand(len(groups))
        )

    def probabilities(self, hidden: Tensor, shares: Tensor, items: Tensor) -> Tensor:
        """Return the mean probability (B, M) of every item over hidden states (B, K, D) with weights `shares` (B, K).

        The shares of a list sum to 1. Categories that are not scored divide their probability by the prior.
        """
        if self.category is None:
            return mean_probabilities(self.scale * self.transform(hidden), shares, items, self.bias)
        known = CategoryItems(self.starts, self.categories, self.prior, items, self.bias)
        return known.probabilities(self.first_stage(hidden, shares))

    def first_stage(self, hidden: Tensor, shares: Tensor) -> FirstStage:
        """Return what the items of every category need of hidden states (B, K, D) with weights `shares` (B, K)."""
        hidden = self.transform(hidden)
        assert self.category is not None
        by_position = in_full(self.category(hidden)).softmax(2) * shares[..., None]  # (B, K, N)
        by_list = by_position.sum(1)  # (B, N)
        requested = by_list.topk(self.requested, dim=1).indices  # (B, b)
        weights = by_position.gather(2, requested[:, None].expand(-1, hidden.shape[1], -1))  # (B, K, b)
        return FirstStage(self.scale * hidden, by_list, requested, weights)

    def expected_positions(self, hidden: Tensor, shares: Tensor, chosen: Tensor, categories: Tensor) -> Tensor:
        """Return the expected position (B, K) of items by the scores at all positions.

        `chosen` (B, K, D) are the embeddings of the items, and `categories` (B, K) their categories.
        """
        hidden = self.transform(hidden)
        affinity = in_full(torch.einsum("bkd,bjd->bkj", self.scale * hidden, chosen))  # (B, positions, K)
        if self.category is not None:
            by_position = in_full(self.category(hidden)).log_softmax(2)
            affinity += by_position.gather(2, categories[:, None].expand(-1, hidden.shape[1], -1))
        affinity = affinity.masked_fill(shares[..., None] == 0, -torch.inf).softmax(1)
        return torch.einsum("bkj,k->bj", affinity, torch.arange(hidden.shape[1], device=hidden.device).to(affinity))
