"""A sharded model whose shards are all in this process."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fansrec.artifact import Artifact
from fansrec.engine.sharded.backend import ShardedEngine
from fansrec.engine.sharded.loading import describe, open_sharded, read_shard
from fansrec.engine.sharded.shard import Indices, LocalShard


class LocalShards:
    def __init__(self, shards: Sequence[LocalShard]) -> None:
        self.shards = shards

    def ask(self, method: str, questions: Mapping[int, tuple[Any, ...]]) -> list[Any]:
        return [getattr(self.shards[shard], method)(*arguments) for shard, arguments in questions.items()]

    def share(self, indices: Indices) -> Any:
        return indices


def in_process(run: Path, devices: Sequence[str]) -> tuple[Artifact, ShardedEngine]:
    """Return an artifact and an engine with one shard per device, the encoder on the first device."""
    described = describe(run)
    plan = described.plan(len(devices))
    shards = [read_shard(run, described.hash, plan, number, device) for number, device in enumerate(devices)]
    return open_sharded(described, plan, LocalShards(shards), devices[0])
