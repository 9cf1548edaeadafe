"""A catalog that is too large for one machine: actors that each hold the items of a shard of the categories."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import ray
import torch
from ray.exceptions import GetTimeoutError

from fansrec.api.continuer import Continuer
from fansrec.cluster.errors import ray_errors
from fansrec.engine.sharded.hybrid.shard import HybridShard
from fansrec.engine.sharded.loading import Described, describe, open_sharded, read_shard
from fansrec.engine.sharded.shard import Indices, LocalShard
from fansrec.engine.sharded.shards import Plan
from fansrec.errors import BadSetting, Unfinished

MAX_INLINE_BYTES = 100_000  # of an argument that is sent with the call, as in Ray itself
MAX_RETRIES = 3  # of a call that kills its actor
START_SECONDS = 600.0
CALL_SECONDS = 300.0  # long enough to load a lost shard again if the cluster has room for it


class HeldShard:
    """An actor with one shard, which it loads with the first call, so that a restarted actor can answer any call."""

    def __init__(self, folder: Path, manifest_hash: str, plan: Plan, number: int, device: str) -> None:
        torch.set_num_threads(1)
        self._arguments = (folder, manifest_hash, plan, number, device)

    @cached_property
    def _shard(self) -> LocalShard | HybridShard:
        return read_shard(*self._arguments)

    def ready(self) -> int:
        """Load the shard and return its number of items."""
        return self._shard.items

    def call(self, method: str, *arguments: Any) -> Any:
        """Return the answer of a method of the shard."""
        return getattr(self._shard, method)(*arguments)


class RayShards:
    """Shards as actors; Ray restarts an actor that dies and repeats the call."""

    def __init__(self, described: Described, plan: Plan, device: str = "cpu", cpus: int = 1) -> None:
        kind = ray.remote(HeldShard).options(
            num_cpus=cpus,
            num_gpus=0 if device == "cpu" else 1,
            max_restarts=-1,
            max_task_retries=MAX_RETRIES,
            scheduling_strategy="SPREAD",
        )
        folder = described.folder.resolve()
        self.actors = [kind.remote(folder, described.hash, plan, number, device) for number in range(plan.shards)]

    def ask(self, method: str, questions: Mapping[int, tuple[Any, ...]]) -> list[Any]:
        calls = [self.actors[shard].call.remote(method, *arguments) for shard, arguments in questions.items()]
        return _get(calls, CALL_SECONDS, "the shards did not answer")

    def share(self, numbers: Indices) -> Any:
        return numbers if numbers.nbytes < MAX_INLINE_BYTES else ray.put(numbers)


def load(run: str | Path, shards: int, device: str = "cpu") -> Continuer:
    """Load a trained model with its items on `shards` actors of the connected cluster, which must all see the folder.

    `device` is the device of the actors: with cuda each has its own GPU. The encoder runs here, on the CPU.
    """
    described = describe(Path(run))
    plan = described.plan(shards)
    kind = "CPU" if device == "cpu" else "GPU"
    available = int(ray.cluster_resources().get(kind, 0))
    if available < plan.shards:  # Ray would wait for machines that may never join
        raise BadSetting(
            f"{plan.shards} shards need a {kind} each, and the cluster has {available}; "
            "use fewer shards, or add machines"
        )
    remote = RayShards(described, plan, device)
    calls = [actor.ready.remote() for actor in remote.actors]
    artifact, engine = open_sharded(described, plan, remote)
    _get(calls, START_SECONDS, "the shards were not ready")
    return Continuer(artifact, engine=engine)


def _get(calls: Sequence[Any], seconds: float, problem: str) -> list[Any]:
    with ray_errors():
        try:
            answers: list[Any] = ray.get(list(calls), timeout=seconds)
        except GetTimeoutError:
            advice = "check that the cluster has room for all of them"
            raise Unfinished(f"{problem} within {seconds:.0f} s; {advice}") from None  # or the cause would be reported
    return answers
