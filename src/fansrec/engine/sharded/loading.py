"""Reading a trained model in parts: each shard its own rows, the coordinator the rest.

Rows are slices of the memory-mapped file, so that on a CPU nothing is copied, and unused pages are never read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from torch import Tensor, nn

from fansrec.artifact import MANIFEST, UNREADABLE, WEIGHTS, Artifact, check, read_config, read_counts, recipe_of, unfit
from fansrec.artifact.weights import check_header
from fansrec.engine.interface import CategoryLookup
from fansrec.engine.sharded.backend import ShardedEngine
from fansrec.engine.sharded.shard import LocalShard, ShardWeights
from fansrec.engine.sharded.shards import LocalShards, Plan, Shards, divide, fetch_vectors
from fansrec.errors import BadArtifact, BadSetting
from fansrec.files import read_json
from fansrec.models.fans import Fans, FansConfig, LocalTransforms
from fansrec.models.outlines import fans
from fansrec.models.registry import command_name, configured, entry
from fansrec.models.validation import check_model, check_tensor
from fansrec.vocabulary import read_vocabulary

ITEMS = "embed.items.weight"
ELSEWHERE = ("classifier.items.", "classifier.local.")  # the weights that the shards hold, besides ITEMS


@dataclass(frozen=True)
class Described:
    """A model folder whose checksums and weight shapes were checked; its weights have not been read."""

    folder: Path
    settings: FansConfig
    config: dict[str, Any]
    hash: str

    def plan(self, shards: int) -> Plan:
        return divide(self.settings.category_starts, shards)


def describe(folder: Path) -> Described:
    """Check the manifest's checksums, a few bytes at a time, and that the model can be sharded."""
    manifest_hash = check(folder)
    config = read_config(folder)
    name, values = config["model"], config["config"]
    found = entry(name)
    if found.model is not Fans or values.get("classifier", "two-stage") != "two-stage":
        trained = f"{command_name(name)} by --recipe {recipe_of(config)}"
        what = trained if found.model is not Fans else f"{name} with a vanilla classifier"
        raise BadSetting(
            f"{folder} is {what}, which cannot be sharded; only fans by --recipe paper with --classifier two-stage can"
        )
    try:
        settings = configured(found, values)
        check_header(folder / WEIGHTS, fans(settings))
    except (*UNREADABLE, BadSetting) as error:
        raise unfit(folder, error) from error
    return Described(folder, settings, config, manifest_hash)


def open_sharded(
    described: Described, plan: Plan, shards: Shards, device: str = "cpu"
) -> tuple[Artifact, ShardedEngine]:
    """Return an artifact whose model has no items, and the engine that asks the shards for them."""
    folder, settings = described.folder, described.settings
    try:
        weights = _coordinator_weights(folder / WEIGHTS, settings.alphabet.items)
        model = without_items(settings, weights, lambda items: fetch_vectors(shards, plan, items))
        check_model(model)
    except UNREADABLE as error:
        raise unfit(folder, error) from error
    vocabulary = read_vocabulary(folder)
    if tuple(vocabulary.starts.tolist()) != settings.category_starts:
        raise BadArtifact(
            f"{folder} holds the vocabulary of another model; copy the whole folder again, or train again"
        )
    model.to(device)
    counts = read_counts(folder, len(vocabulary))
    artifact = Artifact(folder, model, vocabulary, described.config, described.hash, counts)
    return artifact, ShardedEngine(model, plan, shards)


def in_process(run: Path, devices: Sequence[str]) -> tuple[Artifact, ShardedEngine]:
    """Return an artifact and an engine with one shard per device of this process, the encoder on the first device."""
    described = describe(run)
    plan = described.plan(len(devices))
    shards = [read_shard(run, described.hash, plan, number, device) for number, device in enumerate(devices)]
    return open_sharded(described, plan, LocalShards(shards), devices[0])


def read_shard(folder: Path, manifest_hash: str, plan: Plan, number: int, device: str) -> LocalShard:
    """Read the rows of a shard; raise BadArtifact if the folder is not the one that was checked."""
    try:
        found = read_json(folder / MANIFEST)["sha256"]
        if found != manifest_hash:
            raise BadArtifact(
                f"{folder} was changed while it was loaded, or is another model on this machine; load it again"
            )
        return LocalShard(_shard_weights(folder / WEIGHTS, plan, number, torch.device(device)))
    except UNREADABLE as error:
        raise unfit(folder, error) from error


def _shard_weights(path: Path, plan: Plan, number: int, device: torch.device) -> ShardWeights:
    categories = slice(plan.cuts[number], plan.cuts[number + 1])
    items = slice(*plan.items[number : number + 2].tolist())
    with safe_open(path, framework="pt") as file:

        def rows(name: str, which: slice) -> Tensor:
            read: Tensor = file.get_slice(name)[which]
            check_tensor(name, read)
            return read.to(device)

        with torch.device("meta"):
            local = LocalTransforms(file.get_slice(ITEMS).get_shape()[1], categories.stop - categories.start)
        names = {name: f"classifier.local.{name}" for name in local.state_dict()}
        local.load_state_dict({name: rows(whole, categories) for name, whole in names.items()}, assign=True)
        return ShardWeights(
            first=categories.start,
            starts=plan.starts[categories.start : categories.stop + 1],
            vectors=rows(ITEMS, items),
            local=local,
            weight=rows("classifier.items.weight", items),
            bias=rows("classifier.items.bias", items),
        )


def _coordinator_weights(path: Path, items: int) -> dict[str, Tensor]:
    with safe_open(path, framework="pt") as file:
        here = [name for name in file.keys() if name != ITEMS and not name.startswith(ELSEWHERE)]  # noqa: SIM118
        return {name: file.get_tensor(name) for name in here} | {ITEMS: file.get_slice(ITEMS)[items:]}


class FetchedItems(nn.Module):
    """Replaces the item table: rows are fetched when they are looked up; those of the special tokens are held here."""

    def __init__(self, specials: Tensor, items: int, fetch: Callable[[NDArray[np.int64]], object]) -> None:
        super().__init__()
        self.weight = nn.Parameter(specials, requires_grad=False)  # (4, D)
        self.items, self.fetch = items, fetch

    def forward(self, tokens: Tensor) -> Tensor:
        indices, inverse = torch.unique(tokens, return_inverse=True)  # ascending, so that the specials come last
        is_item = indices < self.items
        specials = self.weight[indices[~is_item] - self.items]
        fetched = self.fetch(indices[is_item].cpu().numpy())
        rows = specials if fetched is None else torch.cat([torch.as_tensor(fetched).to(specials), specials])
        return rows[inverse]


def without_items(
    config: FansConfig, weights: Mapping[str, Tensor], fetch: Callable[[NDArray[np.int64]], object]
) -> Fans:
    """Return FANS without items; `weights` has all but `ELSEWHERE`, and under `ITEMS` only rows of special tokens."""
    categories = len(config.category_starts) - 1
    with torch.device("meta"):  # one item per category, so that nothing of the catalog's size is allocated
        model = Fans(replace(config, category_starts=tuple(range(categories + 1))))
        for name in ("items", "local", "bounds"):  # the second stage of the classifier
            delattr(model.classifier, name)
        model.embed.items = FetchedItems(torch.empty(4, config.width), config.alphabet.items, fetch)  # type: ignore[assignment]
    model.config = config
    model._categories = CategoryLookup(config.category_starts)  # type: ignore[assignment]
    model.load_state_dict({name: weight.float() for name, weight in weights.items()}, assign=True)
    model.train(False)
    return model
