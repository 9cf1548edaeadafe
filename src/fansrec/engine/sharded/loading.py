"""Reading a trained model in parts: each shard its own rows, the coordinator the rest.

Rows are slices of the memory-mapped file, so that on a CPU nothing is copied, and unused pages are never read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from fansrec.artifact import MANIFEST, UNREADABLE, WEIGHTS, Artifact, check, read_config, read_counts, recipe_of, unfit
from fansrec.artifact.weights import check_header
from fansrec.engine.sharded import fans_loading
from fansrec.engine.sharded.backend import ShardedEngine
from fansrec.engine.sharded.hybrid import loading as hybrid_loading
from fansrec.engine.sharded.hybrid.shard import HybridShard
from fansrec.engine.sharded.shard import LocalShard
from fansrec.engine.sharded.shards import LocalShards, Plan, Shards, divide
from fansrec.errors import BadArtifact, BadSetting
from fansrec.files import read_json
from fansrec.models.fans import Fans
from fansrec.models.hybrid.config import HybridConfig
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.registry import command_name, configured, entry
from fansrec.models.stored import KINDS
from fansrec.models.validation import check_model
from fansrec.vocabulary import read_vocabulary

TWO_STAGE = "two-stage"


@dataclass(frozen=True)
class Described:
    """A model folder whose checksums and weight shapes were checked; its weights have not been read."""

    folder: Path
    settings: Any  # FansConfig or HybridConfig
    config: dict[str, Any]
    hash: str

    def plan(self, shards: int) -> Plan:
        return divide(self.settings.category_starts, shards)


def describe(folder: Path) -> Described:
    """Check the manifest's checksums, a few bytes at a time, and that the model can be sharded."""
    manifest_hash = check(folder)
    config = read_config(folder)
    name = config["model"]
    if entry(name).model not in (Fans, HybridFans):
        raise _refusal(folder, f"{command_name(name)} by --recipe {recipe_of(config)}")
    settings = _settings(folder, config)
    classifier = settings.network.classifier if isinstance(settings, HybridConfig) else settings.classifier
    if classifier != TWO_STAGE:
        raise _refusal(folder, f"{command_name(name)} with a {classifier} classifier")
    try:
        check_header(folder / WEIGHTS, KINDS[name].outline(settings))
    except UNREADABLE as error:
        raise unfit(folder, error) from error
    return Described(folder, settings, config, manifest_hash)


def _refusal(folder: Path, what: str) -> BadSetting:
    return BadSetting(f"{folder} is {what}, which cannot be sharded; only fans with --classifier {TWO_STAGE} can")


def _settings(folder: Path, config: dict[str, Any]) -> Any:
    try:
        return configured(entry(config["model"]), config["config"])
    except (*UNREADABLE, BadSetting) as error:
        raise unfit(folder, error) from error


def open_sharded(
    described: Described, plan: Plan, shards: Shards, device: str = "cpu"
) -> tuple[Artifact, ShardedEngine]:
    """Return an artifact whose model has no items, and the engine that asks the shards for them."""
    folder, settings = described.folder, described.settings
    try:
        engine = _module(settings).open_engine(folder / WEIGHTS, settings, plan, shards)
        check_model(engine.model)
    except UNREADABLE as error:
        raise unfit(folder, error) from error
    vocabulary = read_vocabulary(folder)
    if tuple(vocabulary.starts.tolist()) != settings.category_starts:
        raise BadArtifact(
            f"{folder} holds the vocabulary of another model; copy the whole folder again, or train again"
        )
    engine.to(device)
    counts = read_counts(folder, len(vocabulary))
    artifact = Artifact(folder, engine.model, vocabulary, described.config, described.hash, counts)
    return artifact, engine


def _module(settings: Any) -> Any:
    """Return the module that reads a model with these settings."""
    return hybrid_loading if isinstance(settings, HybridConfig) else fans_loading


def in_process(run: Path, devices: Sequence[str]) -> tuple[Artifact, ShardedEngine]:
    """Return an artifact and an engine with one shard per device of this process, the encoder on the first device."""
    described = describe(run)
    plan = described.plan(len(devices))
    shards = [read_shard(run, described.hash, plan, number, device) for number, device in enumerate(devices)]
    return open_sharded(described, plan, LocalShards(shards), devices[0])


def read_shard(folder: Path, manifest_hash: str, plan: Plan, number: int, device: str) -> LocalShard | HybridShard:
    """Read the rows of a shard; raise BadArtifact if the folder is not the one that was checked."""
    try:
        found = read_json(folder / MANIFEST)["sha256"]
        if found != manifest_hash:
            raise BadArtifact(
                f"{folder} was changed while it was loaded, or is another model on this machine; load it again"
            )
        settings = _settings(folder, read_config(folder))
        shard: LocalShard | HybridShard = _module(settings).read_shard(
            folder / WEIGHTS, settings, plan, number, torch.device(device)
        )
        return shard
    except UNREADABLE as error:
        raise unfit(folder, error) from error
