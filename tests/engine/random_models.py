"""Small models with random weights, lists and rules for the tests of engines."""

from typing import Any

import numpy as np
import torch

from fansrec.engine.rules import Rules
from fansrec.models.registry import build

STARTS = (0, 20, 21, 33, 40)  # one category has a single item
ITEMS = STARTS[-1]
SIZES = {"category_starts": STARTS, "positions": 30, "width": 16, "layers": 2, "heads": 2, "dropout": 0.0}
RULES = {
    "none": Rules(),
    "seen kept": Rules(keep_seen=True),
    "groups": Rules(groups=np.arange(ITEMS) % 5, max_per_group=2),
    "few allowed": Rules(allow=range(5, 24), exclude=[12, 13]),
    "nothing allowed": Rules(allow=[]),
    "a floor": Rules(min_score=-3.5),
}


def random_model(name: str, config: dict[str, Any]) -> Any:
    """Return a model with random weights that are large enough for scores to differ clearly."""
    torch.manual_seed(0)
    model = build(name, config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter + 0.1 * torch.randn_like(parameter))
            if parameter.dim() > 1:
                parameter.normal_(std=0.4)
    return model


def lists(count: int, items: int = ITEMS, longest: int = 12, most: int = 45) -> tuple[list[np.ndarray], list[int]]:
    """Return inputs, some of them empty, and counts, some larger than a category or than the catalog."""
    random = np.random.default_rng(1)
    inputs = [random.integers(items, size=random.integers(0, longest)) for _ in range(count)]
    return inputs, random.integers(1, most, size=count).tolist()
