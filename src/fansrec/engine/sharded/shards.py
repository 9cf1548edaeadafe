"""Access to the shards of a model, wherever they are."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from fansrec.engine.sharded.plan import Plan
from fansrec.engine.sharded.shard import Floats, Indices, LocalShard


class Shards(Protocol):
    """The shards of a model, in this process or in others."""

    def ask(self, method: str, questions: Mapping[int, tuple[Any, ...]]) -> list[Any]:
        """Call `method` of shards in parallel with the arguments in `questions` (by shard); return results in order."""
        ...

    def share(self, indices: Indices) -> Any:
        """Return a large argument of many calls in a form that is sent once."""
        ...


class LocalShards:
    """Shards on the devices of this process."""

    def __init__(self, shards: Sequence[LocalShard]) -> None:
        self.shards = shards
        # On a single device, above all on a CPU, threads would only compete with each other.
        self._threads = ThreadPoolExecutor(len(shards)) if len({shard.device for shard in shards}) > 1 else None

    def ask(self, method: str, questions: Mapping[int, tuple[Any, ...]]) -> list[Any]:
        calls = [(getattr(self.shards[shard], method), arguments) for shard, arguments in questions.items()]
        if self._threads is None:
            return [call(*arguments) for call, arguments in calls]
        started = [self._threads.submit(call, *arguments) for call, arguments in calls]
        return [answer.result() for answer in started]

    def share(self, indices: Indices) -> Any:
        return indices


def fetch_vectors(shards: Shards, plan: Plan, items: Indices) -> Floats | None:
    """Return the vectors (n, D) of items in ascending order; None if there are no items."""
    questions = {shard: (own,) for shard, own in enumerate(plan.split(items)) if len(own)}
    return np.concatenate(shards.ask("vectors", questions)) if questions else None
