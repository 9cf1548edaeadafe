"""Models of any size with random weights: the time of an answer can be measured without training.

The time of one model depends on its weights: a two-stage classifier multiplies once for every category that some
position of a list has chosen. Trained on AotM it chooses 1.2 of 10 for a list of 9 positions. Here, the position
embeddings are far apart, so that it chooses many more (7 of 10, or 15 of 100, for a list of Spotify's length): its time
is close to the worst case. No category runs out of items: at Spotify's size, 250 categories have 419 items each, and a
list needs at most 150.
"""

from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
import torch

from fansrec.engine.torch.backend import TorchEngine
from fansrec.experiments.speed.workloads import even_categories, make_lists, workload
from fansrec.models.config import from_settings
from fansrec.models.hybrid.config import HybridConfig
from fansrec.models.hybrid.model import HybridFans, LinearPart
from fansrec.models.linear.config import regression_width
from fansrec.models.linear.item_weights import DenseWeights, Table
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.models.registry import build

EMBEDDED = 10  # categories that models without a two-stage classifier embed
# As `--recipe best` finds them on spotify-attlist.
KERNEL: dict[str, Any] = {"before": 0.4, "recency": 0.6, "near": 0.5}
NETWORK: dict[str, Any] = {
    "causal": True,
    "transform": False,
    "next_share": 0.5,
    "read_masks": 3,
}  # as `fitting` in training/plan.py


def random_model(name: str, items: int, categories: int, positions: int, seed: int, **values: Any) -> Any:
    """Return a model; the position embeddings of FANS and BERT4Rec are as far apart as those of items."""
    torch.manual_seed(seed)
    model = build(name, {"category_starts": even_categories(items, categories), "positions": positions} | values)
    if name in ("fans", "bert4rec"):
        torch.nn.init.normal_(model.embed.positions.weight)
    return model.eval()


def random_fans(items: int, categories: int, positions: int, seed: int, **values: Any) -> Any:
    """Return the paper's FANS; with one category it has the vanilla classifier."""
    if categories == 1:
        categories, values = min(EMBEDDED, items), {"classifier": "vanilla", **values}
    return random_model("fans", items, categories, positions, seed, **values)


def random_engine(
    name: str, items: int, categories: int, positions: int, device: str, seed: int, **values: Any
) -> TorchEngine:
    """Return the reference engine with such a model."""
    return TorchEngine(random_model(name, items, categories, positions, seed, **values).to(device), items, device)


def random_best(
    of: str, items: int, categories: int, positions: int, seed: int, *, with_parts: bool = True, **values: Any
) -> HybridFans:
    """Return FANS as `--recipe best` trains it, with all parts, or the network alone.

    Its memory has as many random lists as workload `of` trains on, its linear part as many weights as training keeps.
    """
    torch.manual_seed(seed)
    sizes = {"category_starts": even_categories(items, categories), "positions": positions}
    model = HybridFans(from_settings(HybridConfig, sizes | KERNEL | NETWORK | values))
    torch.nn.init.normal_(model.embed.positions.weight)
    memory = random_memory(of, items, seed)
    model.tied.start(memory.list_starts.diff())
    if with_parts:
        model.memory, model.linear = memory, random_part(items, seed)
    return model.eval()


@cache
def random_memory(of: str, items: int, seed: int) -> ListMemory:
    """Return a list memory; cached, as it takes seconds to build and is the same for any number of categories."""
    sizes = workload(of)
    given, offsets = make_lists(replace(sizes, lists=sizes.remembered, items=items), np.random.default_rng(seed))
    return ListMemory.of(items, given.astype(np.int32), offsets)


@lru_cache(maxsize=1)
def random_part(items: int, seed: int) -> LinearPart:
    """Return the linear part of a hybrid model; cached like the memory, but for one size: it may have gigabytes."""
    part = LinearPart(items, regression_width(items))
    part.assign(_random_table(items, part.width, torch.Generator().manual_seed(seed)))
    return part


def _random_table(items: int, width: int, random: torch.Generator) -> Table:
    to = torch.randint(items, (items, width), generator=random, dtype=torch.int32)
    return Table(to, torch.rand((items, width), generator=random))


def random_linear(name: str, items: int, seed: int) -> Any:
    """Return EASE or item-kNN with all weights, or with the strongest of each item where it would not keep all."""
    random = torch.Generator().manual_seed(seed)
    model = build(name, {"category_starts": (0, items)})
    if isinstance(model.weights, DenseWeights):
        model.weights.matrix.normal_(generator=random)
    else:
        model.weights.assign(_random_table(items, model.weights.width, random))
    return model.eval()
