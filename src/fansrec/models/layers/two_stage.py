"""The two-stage classifier of the paper: first a category, then an item inside it."""

from collections.abc import Iterator
from itertools import accumulate, pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fansrec.models.layers.classifiers import Blocked, Loss, Reduce
from fansrec.models.layers.cross_entropy import grouped_cross_entropy
from fansrec.models.layers.transformer import Transform, in_full
from fansrec.models.tokens import Batch

EPSILON = 1e-6  # keeps the mean of a category without samples at zero instead of undefined


class TwoStageClassifier(nn.Module):
    """One category classifier and N local classifiers, whose weights lie in one matrix in category order."""

    def __init__(self, width: int, category_starts: tuple[int, ...]) -> None:
        super().__init__()
        self.starts = category_starts
        self.ranks = len(category_starts) - 1  # N: every category is one
        self.transform = Transform(width)
        self.category = nn.Linear(width, self.ranks)
        self.local = LocalTransforms(width, self.ranks)
        self.items = nn.Linear(width, category_starts[-1])
        self.register_buffer("bounds", torch.tensor(category_starts), persistent=False)

    def category_of(self, items: Tensor) -> Tensor:
        bounds: Tensor = self.bounds  # type: ignore[assignment]
        return torch.bucketize(items, bounds, right=True) - 1

    def loss(self, hidden: Tensor, batch: Batch, reduce: Reduce) -> Loss:  # (P, D)
        """L = L_cat + (1/N) sum L_loc; a local loss is a mean over the positions whose category was predicted right."""
        categories = self.category_of(batch.labels)
        logits = in_full(self.category(self.transform(hidden)))  # (P, N)
        category_loss = F.cross_entropy(logits, categories, reduction="sum") / batch.lists
        right = logits.argmax(1) == categories
        local_loss = self.local_loss(hidden[right], batch.labels[right], categories[right], reduce)
        return Loss(category_loss + local_loss, right.sum())

    def local_loss(self, hidden: Tensor, labels: Tensor, categories: Tensor, reduce: Reduce) -> Tensor:
        counts = torch.bincount(categories, minlength=self.ranks)
        scales = 1 / (reduce(counts.float()) + EPSILON) / self.ranks
        order = categories.argsort(stable=True)
        ends = [0, *accumulate(counts.tolist())]
        # Even without a single right category the weights are touched: distributed training waits for all gradients.
        present = [c for c in range(self.ranks) if ends[c] < ends[c + 1]] or [0]
        rows = [slice(ends[c], ends[c + 1]) for c in present]
        items = [slice(self.starts[c], self.starts[c + 1]) for c in present]
        transformed = self.local(hidden[order], rows, present)
        groups = list(zip(rows, items, strict=True))
        return grouped_cross_entropy(
            transformed, self.items.weight, self.items.bias, labels[order], groups, scales[present]
        )

    def scores(self, hidden: Tensor, rank: int) -> Tensor:  # (P, D) -> (P, M)
        """Log-probabilities inside each position's category number `rank` by probability; -inf outside it."""
        out = hidden.new_full(
            (len(hidden), self.starts[-1]), -torch.inf, dtype=torch.promote_types(hidden.dtype, torch.float32)
        )
        for rows, items, scores in self._by_category(hidden, rank):
            out[rows, items] = scores
        return out

    def best(self, hidden: Tensor, rank: int, count: int, blocked: Blocked | None) -> tuple[Tensor, Tensor]:
        """As `scores`, but only the best `count` items of each position: nothing of width M is made."""
        out = hidden.new_full((len(hidden), count), -torch.inf, dtype=torch.promote_types(hidden.dtype, torch.float32))
        found = torch.zeros((len(hidden), count), dtype=torch.int64, device=hidden.device)
        for rows, items, scores in self._by_category(hidden, rank):
            if blocked is not None:
                blocked.fill(scores, rows, items)
            best = scores.topk(min(count, scores.shape[1]), dim=1)
            out[rows, : best.values.shape[1]] = best.values
            found[rows, : best.values.shape[1]] = best.indices + items.start
        return out, found

    def _by_category(self, hidden: Tensor, rank: int) -> Iterator[tuple[Tensor, slice, Tensor]]:
        """For each category that is number `rank` of some positions: which ones, its items, and their scores there."""
        by_category = in_full(self.category(self.transform(hidden))).log_softmax(1)  # (P, N)
        best, chosen = by_category.sort(dim=1, descending=True, stable=True)
        best, chosen = best[:, rank], chosen[:, rank]
        order = chosen.argsort(stable=True)
        ends = [0, *accumulate(torch.bincount(chosen, minlength=self.ranks).tolist())]
        for category, (start, end) in enumerate(pairwise(ends)):
            if start < end:
                rows = order[start:end]
                items = slice(self.starts[category], self.starts[category + 1])
                yield rows, items, self._inside(hidden[rows], category, items) + best[rows, None]

    def _inside(self, hidden: Tensor, category: int, items: slice) -> Tensor:
        transformed = self.local(hidden, [slice(0, len(hidden))], [category])
        logits = F.linear(transformed, self.items.weight[items], self.items.bias[items])
        return in_full(logits).log_softmax(1)


class LocalTransforms(nn.Module):
    """The transforms of N local classifiers, kept as stacked weights."""

    def __init__(self, width: int, categories: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(categories, width, width).normal_(std=0.02))
        self.bias = nn.Parameter(torch.zeros(categories, width))
        self.norm_weight = nn.Parameter(torch.ones(categories, width))
        self.norm_bias = nn.Parameter(torch.zeros(categories, width))

    def forward(self, hidden: Tensor, rows: list[slice], categories: list[int]) -> Tensor:
        """`rows[i]` go through the transform of `categories[i]`; the rows lie in that order and leave none out."""
        weights, biases = self.weight.unbind(), self.bias.unbind()  # unbind: one gradient tensor instead of one a slice
        scales, shifts = self.norm_weight.unbind(), self.norm_bias.unbind()
        return torch.cat(
            [
                F.layer_norm(F.gelu(F.linear(hidden[r], weights[c], biases[c])), hidden.shape[1:], scales[c], shifts[c])
                for r, c in zip(rows, categories, strict=True)
            ]
        )
