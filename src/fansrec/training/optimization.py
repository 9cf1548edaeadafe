"""The optimizer, the learning rate schedule and the moving average of the weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from fansrec.training.settings import TrainSettings


def learning_rate_factor(step: int, warmup: int, total: int) -> float:
    """Return the share of the full learning rate at step 0, 1, …: linear warm-up, then linear decay to 0 at `total`."""
    return min((step + 1) / max(1, warmup), max(0.0, (total - step) / max(1, total - warmup)), 1.0)


def learning_rate(settings: TrainSettings, step: int, batches: int) -> float:
    """Return the learning rate of an optimizer step, for epochs of `batches` batches."""
    total = settings.epochs * batches
    warmup = min(settings.warmup, total // 5)  # small corpora have few steps in all
    return settings.learning_rate * learning_rate_factor(step, warmup, total)


def make_optimizer(network: Any, settings: TrainSettings) -> torch.optim.Optimizer:
    """Return Adam, or with weight decay AdamW, which decays matrices but not vectors."""
    if not settings.weight_decay:
        return torch.optim.Adam(network.parameters(), lr=settings.learning_rate, fused=True)
    vectors = [parameter for parameter in network.parameters() if parameter.ndim < 2]
    matrices = [parameter for parameter in network.parameters() if parameter.ndim >= 2]
    groups: list[dict[str, Any]] = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True)


class WeightAverage:
    """An exponential moving average of a network's parameters, which vary more from step to step.

    With a `decay` of 0 there is no average and nothing happens.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self.parameters = dict(network.named_parameters()) if decay else {}
        self.weights = {name: parameter.detach().clone() for name, parameter in self.parameters.items()}

    def load(self, weights: dict[str, Tensor]) -> None:
        for name, weight in weights.items():
            self.weights[name].copy_(weight)

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Add the current weights to the average, with a larger share in the first steps."""
        decay = min(self.decay, (step + 1) / (step + 10))
        if self.weights:  # all at once, since a GPU would wait for each of many small steps
            torch._foreach_lerp_(list(self.weights.values()), list(self.parameters.values()), 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Give the network the averaged weights inside the block and its own again after it."""
        own = {name: parameter.detach().clone() for name, parameter in self.parameters.items()}
        self._assign(self.weights)
        try:
            yield
        finally:
            self._assign(own)

    @torch.no_grad()
    def _assign(self, weights: dict[str, Tensor]) -> None:
        for name, parameter in self.parameters.items():
            parameter.copy_(weights[name])
