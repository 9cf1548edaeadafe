"""A running average of the weights, which is steadier than any single step's."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """Follows a network's parameters; with a `decay` of 0 it does nothing, and the network is used as it is."""

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self.parameters = dict(network.named_parameters()) if decay else {}
        self.weights = {name: parameter.detach().clone() for name, parameter in self.parameters.items()}

    def load(self, weights: dict[str, Tensor]) -> None:
        for name, weight in weights.items():
            self.weights[name].copy_(weight)

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Take a little of the current weights, and more of it while they are still far from where they will be."""
        keep = min(self.decay, (step + 1) / (step + 10))
        for name, parameter in self.parameters.items():
            self.weights[name].lerp_(parameter, 1 - keep)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """The network has the averaged weights inside, its own again after."""
        own = {name: parameter.detach().clone() for name, parameter in self.parameters.items()}
        self._put(self.weights)
        try:
            yield
        finally:
            self._put(own)

    @torch.no_grad()
    def _put(self, weights: dict[str, Tensor]) -> None:
        for name, parameter in self.parameters.items():
            parameter.copy_(weights[name])
