"""A catalogue too large for one machine: its items on several workers, each an actor with a shard of the categories."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import ray
import torch
from ray.exceptions import GetTimeoutError

from fansrec.api.continuer import Continuer
from fansrec.artifact import Artifact
from fansrec.cluster.troubles import in_plain_words
from fansrec.engine.decoding.candidates import Shortlists
from fansrec.engine.sharded.backend import ShardedEngine
from fansrec.engine.sharded.loading import Described, describe, open_sharded, read_shard
from fansrec.engine.sharded.plan import Plan
from fansrec.engine.sharded.shard import Floats, Indices, LocalShard, Question
from fansrec.errors import BadSetting, Unfinished

INLINE = 100_000  # bytes of an argument that go with the question, as Ray itself has it
TRIES = 3  # a question over which a shard dies so many times is given up
START_SECONDS = 600.0
ASK_SECONDS = 300.0  # a shard that was lost is read anew in this time, if there is room for it


class HeldShard:
    """A shard in a worker; it is read with the first question, so that a worker begun anew can answer any."""

    def __init__(self, folder: Path, manifest_hash: str, plan: Plan, number: int, device: str) -> None:
        torch.set_num_threads(1)
        self._place = (folder, manifest_hash, plan, number, device)

    @cached_property
    def _shard(self) -> LocalShard:
        return read_shard(*self._place)

    def ready(self) -> int:
        """How many items it has."""
        return len(self._shard.weights.bias)

    def vectors(self, items: Indices) -> Floats:
        return self._shard.vectors(items)

    def best(
        self, question: Question, excluded: Indices, allowed: Indices | None, groups: Indices | None
    ) -> Shortlists:
        return self._shard.best(question, excluded, allowed, groups)


class RayShards:
    """Shards as actors, which Ray begins anew where they die, and asks again."""

    def __init__(self, described: Described, plan: Plan, device: str = "cpu", cpus: int = 1) -> None:
        kind = ray.remote(HeldShard).options(
            num_cpus=cpus,
            num_gpus=0 if device == "cpu" else 1,
            max_restarts=-1,
            max_task_retries=TRIES,
            scheduling_strategy="SPREAD",
        )
        folder = described.folder.resolve()
        self.actors = [kind.remote(folder, described.hash, plan, number, device) for number in range(plan.shards)]

    def ask(self, method: str, questions: Mapping[int, tuple[Any, ...]]) -> list[Any]:
        begun = [getattr(self.actors[shard], method).remote(*asked) for shard, asked in questions.items()]
        return _answers(begun, ASK_SECONDS, "the shards did not answer")

    def share(self, numbers: Indices) -> Any:
        return numbers if numbers.nbytes < INLINE else ray.put(numbers)


class ShardedContinuer(Continuer):
    """The same around an engine that is there already."""

    def __init__(self, artifact: Artifact, engine: ShardedEngine) -> None:
        self.artifact, self.vocabulary, self.engine = artifact, artifact.vocabulary, engine


def load(run: str | Path, shards: int, device: str = "cpu") -> Continuer:
    """A trained model from its folder, on `shards` workers of the cluster connected to; the folder must be seen by all.

    `device` is theirs: on cuda each has a GPU of its own. The encoder runs here, on the CPU.
    """
    described = describe(Path(run))
    plan = described.plan(shards)
    _refuse_too_many(plan.shards, device)
    held = RayShards(described, plan, device)
    begun = [actor.ready.remote() for actor in held.actors]
    continuer = ShardedContinuer(*open_sharded(described, plan, held))
    _answers(begun, START_SECONDS, "the shards were not ready")
    return continuer


def _refuse_too_many(shards: int, device: str) -> None:
    """Ray would wait for machines that may never come."""
    kind = "CPU" if device == "cpu" else "GPU"
    there = int(ray.cluster_resources().get(kind, 0))
    if there < shards:
        raise BadSetting(f"{shards} shards need a {kind} each, and the cluster has {there}; ask for fewer, or add some")


def _answers(begun: Sequence[Any], seconds: float, what: str) -> list[Any]:
    with in_plain_words():
        try:
            answers: list[Any] = ray.get(list(begun), timeout=seconds)
        except GetTimeoutError:
            advice = "see that the cluster has room for all of them"
            raise Unfinished(f"{what} within {seconds:.0f} s; {advice}") from None  # or the cause would be told
    return answers
