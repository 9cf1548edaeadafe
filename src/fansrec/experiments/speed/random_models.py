"""Models with weights drawn at random, in any size: no training is needed to know how long an answer takes.

The time of all but one does not depend on the weights: a two-stage classifier multiplies once for every category that
some position of a list has chosen. Trained on AotM it chooses 1.2 of 10 for a list of 9 positions. Positions are kept
far apart here, so that it chooses many more (7 of 10, or 15 of 100, for a list of Spotify's length): its time here is
one it hardly ever needs. No category runs out of items: at Spotify's size 250 of them have 419 items each, and a list
wants 150 at most.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch

from fansrec.engine.torch.backend import TorchEngine
from fansrec.experiments.speed.workloads import even_categories, make_lists, workload
from fansrec.models.config import from_settings
from fansrec.models.hybrid.config import HybridConfig
from fansrec.models.hybrid.list_memory import ListMemory
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.linear.item_weights import DenseWeights, Table
from fansrec.models.registry import build

KERNEL: dict[str, Any] = {
    "before": 0.4,
    "recency": 0.6,
    "near": 0.5,
}  # as `--recipe best` finds them on spotify-attlist


def random_model(name: str, items: int, categories: int, positions: int, seed: int, **values: Any) -> Any:
    """Positions of FANS and BERT4Rec are as far apart as their items."""
    torch.manual_seed(seed)
    model = build(name, {"category_starts": even_categories(items, categories), "positions": positions} | values)
    if name in ("fans", "bert4rec"):
        torch.nn.init.normal_(model.embed.positions.weight)
    return model.eval()


def random_engine(
    name: str, items: int, categories: int, positions: int, device: str, seed: int, **values: Any
) -> TorchEngine:
    """The reference engine around such a model."""
    return TorchEngine(random_model(name, items, categories, positions, seed, **values).to(device), items, device)


def random_best(of: str, items: int, categories: int, positions: int, seed: int) -> HybridFans:
    """FANS as `--recipe best` trains it, with as many made-up lists in its memory as the real set has for training.

    There is no linear part: at Spotify's size training finds that the items are too many for one.
    """
    torch.manual_seed(seed)
    sizes = {"category_starts": even_categories(items, categories), "positions": positions}
    model = HybridFans(from_settings(HybridConfig, sizes | KERNEL))
    torch.nn.init.normal_(model.embed.positions.weight)
    model.memory = random_memory(of, items, seed)
    model.tied.start(model.memory.list_starts.diff())
    return model.eval()


@cache
def random_memory(of: str, items: int, seed: int) -> ListMemory:
    """Kept, since it takes seconds to make and is the same for any number of categories."""
    sizes = workload(of)
    given, offsets = make_lists(replace(sizes, lists=sizes.remembered, items=items), np.random.default_rng(seed))
    return ListMemory.of(items, given.astype(np.int32), offsets)


def random_linear(name: str, items: int, seed: int) -> Any:
    """EASE or item-kNN: all weights, or the strongest of each item where it would not keep all."""
    random = torch.Generator().manual_seed(seed)
    model = build(name, {"category_starts": (0, items)})
    if isinstance(model.weights, DenseWeights):
        model.weights.matrix.normal_(generator=random)
    else:
        shape = (items, model.weights.width)
        to = torch.randint(items, shape, generator=random, dtype=torch.int32)
        model.weights.assign(Table(to, torch.rand(shape, generator=random)))
    return model.eval()
