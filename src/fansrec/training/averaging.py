"""An exponential moving average of the weights, which varies less than the weights of a single step."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """The moving average of a network's parameters; with a `decay` of 0 there is no average and nothing happens."""

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
        for name, parameter in self.parameters.items():
            self.weights[name].lerp_(parameter, 1 - decay)

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
