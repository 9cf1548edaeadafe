"""The optimizer and the learning rate schedule."""

from typing import Any

import torch

from fansrec.training.settings import TrainSettings


def learning_rate_factor(step: int, warmup: int, total: int) -> float:
    """Return the share of the full learning rate at step 0, 1, …: linear warm-up, then linear decay to 0 at `total`."""
    return min((step + 1) / max(1, warmup), max(0.0, (total - step) / max(1, total - warmup)), 1.0)


def make_optimizer(network: Any, settings: TrainSettings) -> torch.optim.Optimizer:
    """Return Adam, or with weight decay AdamW, which decays matrices but not vectors."""
    if not settings.weight_decay:
        return torch.optim.Adam(network.parameters(), lr=settings.learning_rate, fused=True)
    vectors = [parameter for parameter in network.parameters() if parameter.ndim < 2]
    matrices = [parameter for parameter in network.parameters() if parameter.ndim >= 2]
    groups: list[dict[str, Any]] = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True)
