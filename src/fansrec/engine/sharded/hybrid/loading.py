"""Reading a hybrid model in parts.

The list memory is in the file twice, by list and by item. A shard reads the lists of its items, which are one slice,
and orders them by list itself; of the arrays by list only the offsets are read, by the coordinator.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.engine.sharded.hybrid.backend import ShardedHybridEngine
from fansrec.engine.sharded.hybrid.shard import HybridShard, HybridShardWeights
from fansrec.engine.sharded.rows import ITEMS, Fetch, Rows, coordinator_weights, fetch_items, open_rows
from fansrec.engine.sharded.shards import Plan, Shards, fetch_vectors
from fansrec.errors import BadArtifact
from fansrec.models.config import with_settings
from fansrec.models.hybrid.category_items import CategoryItems
from fansrec.models.hybrid.config import HybridConfig
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.limits import LIST_LENGTH
from fansrec.models.neighbors.list_votes import Lookup
from fansrec.models.validation import check_indices, check_offsets

ELSEWHERE = ("tied.bias", "tied.prior", "memory.", "linear.")  # besides ITEMS
NO_PARTS = {"memory_lists": 0, "memory_items": 0, "linear_neighbours": 0}


def read_shard(path: Path, settings: HybridConfig, plan: Plan, number: int, device: torch.device) -> HybridShard:
    """Read the rows of a shard from a model file."""
    first, last = plan.cuts[number : number + 2]
    items = slice(*plan.items[number : number + 2].tolist())
    starts = np.array(plan.starts[first : last + 1]) - items.start
    with open_rows(path) as rows:
        prior = rows("tied.prior", items)
        if bool((prior < 0).any()):
            raise BadArtifact("tied.prior has a probability below 0")
        network = CategoryItems(
            starts=tuple(starts.tolist()),
            categories=torch.from_numpy(np.repeat(np.arange(last - first), np.diff(starts))).to(device),
            prior=prior.to(device),
            vectors=rows(ITEMS, items).to(device),
            bias=rows("tied.bias", items).to(device),
        )
        memory = _memory(rows, settings, items) if uses_memory(settings) else None
        linear = _linear(rows, settings, items) if settings.linear.neighbors and settings.weights.linear else None
    return HybridShard(settings, HybridShardWeights(first, items.start, network, memory, linear))


def uses_memory(settings: HybridConfig) -> bool:
    """Return whether the list memory has a part in the scores."""
    return bool(settings.memory.lists and settings.weights.memory)


def _linear(rows: Rows, settings: HybridConfig, items: slice) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    to, weights = rows("linear.items", items).numpy(), rows("linear.weights", items).numpy()
    check_indices("linear.items", to, settings.alphabet.items)
    return to, weights


def _memory(rows: Rows, settings: HybridConfig, items: slice) -> Lookup:
    """Return the lists of the items of a shard, and by list the items of the shard that it has."""
    ends = rows("memory.list_starts", slice(items.start, items.stop + 1)).numpy()
    among = slice(int(ends[0]), int(ends[-1]))
    if not 0 <= among.start <= among.stop <= settings.memory.items:
        raise BadArtifact("memory.list_starts does not increase")
    list_starts = ends - ends[0]
    check_offsets("memory.list_starts", list_starts, among.stop - among.start)
    lists, places = rows("memory.lists", among).numpy(), rows("memory.list_places", among).numpy()
    check_indices("memory.lists", lists, settings.memory.lists)
    check_indices("memory.list_places", places, LIST_LENGTH)
    order = np.argsort(lists, kind="stable")
    own = np.repeat(np.arange(items.stop - items.start, dtype=np.int32), np.diff(list_starts))
    counts = np.bincount(lists, minlength=settings.memory.lists)
    return Lookup(
        {
            "items": own[order],
            "places": places[order],
            "starts": np.concatenate([[0], np.cumsum(counts)]),
            "lists": lists,
            "list_places": places,
            "list_starts": list_starts,
        }
    )


def open_engine(path: Path, settings: HybridConfig, plan: Plan, shards: Shards) -> ShardedHybridEngine:
    """Return an engine that asks the shards for items."""
    weights = coordinator_weights(path, ELSEWHERE, settings.alphabet.items)
    model = without_items(settings, weights, lambda items: fetch_vectors(shards, plan, items))
    starts = None
    if uses_memory(settings):
        with open_rows(path) as rows:
            starts = rows("memory.starts", slice(None)).numpy()
        check_offsets("memory.starts", starts, settings.memory.items)
    return ShardedHybridEngine(model, plan, shards, starts)


def without_items(config: HybridConfig, weights: dict[str, Tensor], fetch: Fetch) -> HybridFans:
    """Return a hybrid model without items, memory and linear part; `weights` has all but `ELSEWHERE`."""
    categories = len(config.category_starts) - 1
    with torch.device("meta"):  # one item per category, so that nothing of the catalog's size is allocated
        model = HybridFans(replace(with_settings(config, NO_PARTS), category_starts=tuple(range(categories + 1))))
    for name in ("bias", "prior", "categories"):  # the second stage of the classifier
        delattr(model.tied, name)
    fetch_items(model, config, weights, fetch)
    return model
