"""Reading FANS of `--recipe paper` in parts."""

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from fansrec.engine.sharded.backend import ShardedEngine
from fansrec.engine.sharded.rows import ITEMS, Fetch, coordinator_weights, fetch_items, open_rows
from fansrec.engine.sharded.shard import LocalShard, ShardWeights
from fansrec.engine.sharded.shards import Plan, Shards, fetch_vectors
from fansrec.models.fans import Fans, FansConfig, LocalTransforms

ELSEWHERE = ("classifier.items.", "classifier.local.")  # the weights that the shards hold, besides ITEMS


def read_shard(path: Path, settings: FansConfig, plan: Plan, number: int, device: torch.device) -> LocalShard:
    """Read the rows of a shard from a model file."""
    categories = slice(plan.cuts[number], plan.cuts[number + 1])
    items = slice(*plan.items[number : number + 2].tolist())
    with open_rows(path) as rows:
        with torch.device("meta"):
            local = LocalTransforms(settings.width, categories.stop - categories.start)
        transforms = {name: rows(f"classifier.local.{name}", categories).to(device) for name in local.state_dict()}
        local.load_state_dict(transforms, assign=True)
        weights = ShardWeights(
            first=categories.start,
            starts=plan.starts[categories.start : categories.stop + 1],
            vectors=rows(ITEMS, items).to(device),
            local=local,
            weight=rows("classifier.items.weight", items).to(device),
            bias=rows("classifier.items.bias", items).to(device),
        )
    return LocalShard(weights)


def open_engine(path: Path, settings: FansConfig, plan: Plan, shards: Shards) -> ShardedEngine:
    """Return an engine that asks the shards for items."""
    weights = coordinator_weights(path, ELSEWHERE, settings.alphabet.items)
    model = without_items(settings, weights, lambda items: fetch_vectors(shards, plan, items))
    return ShardedEngine(model, plan, shards)


def without_items(config: FansConfig, weights: dict[str, Tensor], fetch: Fetch) -> Fans:
    """Return FANS without items; `weights` has all but `ELSEWHERE`, and under `ITEMS` only rows of special tokens."""
    categories = len(config.category_starts) - 1
    with torch.device("meta"):  # one item per category, so that nothing of the catalog's size is allocated
        model = Fans(replace(config, category_starts=tuple(range(categories + 1))))
    for name in ("items", "local", "bounds"):  # the second stage of the classifier
        delattr(model.classifier, name)
    fetch_items(model, config, weights, fetch)
    return model
