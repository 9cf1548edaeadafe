"""Softmax cross-entropy over large vocabularies without holding all logits in memory at once."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

LOGITS_AT_ONCE = 1 << 20  # 4 MB of fp32: large enough for fast products, small enough to stay near the caches
LOGITS_ON_GPU = 1 << 27  # 512 MB: few large steps
ROWS_AT_ONCE = 128  # at least, since each chunk also reads and writes the gradient of all its weights

Group = tuple[slice, slice]  # rows of the hidden states, and the items of their softmax


def grouped_cross_entropy(
    hidden: Tensor,  # (P, D), the rows of a group are adjacent
    weight: Tensor,  # (M, D)
    bias: Tensor,  # (M,)
    labels: Tensor,  # (P,)
    groups: Sequence[Group],
    scales: Tensor,  # (G,): weight of each group's loss
    categories: Tensor | None = None,  # (M,)
) -> Tensor:
    """Return the weighted sum of the losses of all groups; a row's softmax is over the items of its group only.

    With the `categories` of all items, it is over those of the label's category only.
    """
    loss: Tensor = _GroupedCrossEntropy.apply(hidden, weight, bias, labels, groups, scales, categories)  # type: ignore[no-untyped-call]
    return loss


class _GroupedCrossEntropy(torch.autograd.Function):
    """Computes the gradients together with the loss, chunk by chunk, so that each logit is computed once."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor,
        labels: Tensor,
        groups: Sequence[Group],
        scales: Tensor,
        categories: Tensor | None,
    ) -> Tensor:
        d_hidden, d_weight, d_bias = (torch.zeros_like(t, dtype=torch.float32) for t in (hidden, weight, bias))
        loss = torch.zeros((), device=hidden.device)
        logits_at_once = LOGITS_ON_GPU if hidden.is_cuda else LOGITS_AT_ONCE
        for scale, (rows, items) in _chunks(groups, scales, logits_at_once):
            logits = F.linear(hidden[rows], weight[items], bias[items]).float()
            if categories is not None:
                logits.masked_fill_(categories[items] != categories[labels[rows], None], -torch.inf)
            at_label = (labels[rows] - items.start)[:, None]
            highest = logits.amax(1, keepdim=True)
            right = logits.gather(1, at_label) - highest
            error = logits.sub_(highest).exp_()  # in place: one exponential per logit is the main cost
            total = error.sum(1, keepdim=True)
            loss += scale * (total.log() - right).sum()
            error.mul_(scale / total)  # softmax - one-hot, scaled: the gradient of the logits
            error.scatter_add_(1, at_label, -scale.expand(at_label.shape))
            d_hidden[rows] = (error @ weight[items]).float()
            d_weight[items] += error.T @ hidden[rows]
            d_bias[items] += error.sum(0)
        ctx.save_for_backward(d_hidden.to(hidden.dtype), d_weight, d_bias)
        return loss

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        (grad,) = grad_outputs
        d_hidden, d_weight, d_bias = ctx.saved_tensors
        return d_hidden * grad, d_weight * grad, d_bias * grad, None, None, None, None


def _chunks(groups: Sequence[Group], scales: Tensor, logits_at_once: int) -> Iterator[tuple[Tensor, Group]]:
    """Yield chunks of each group's rows with the group's scale; `logits_at_once` and ROWS_AT_ONCE limit their size."""
    for scale, (rows, items) in zip(scales, groups, strict=True):
        step = max(ROWS_AT_ONCE, logits_at_once // max(1, items.stop - items.start))
        for start in range(rows.start, rows.stop, step):
            yield scale, (slice(start, min(start + step, rows.stop)), items)
