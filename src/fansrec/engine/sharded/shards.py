"""The shards of a model: which categories each has, and access to them, wherever they are.

A shard has consecutive categories, and about the same number of items as the others.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from fansrec.engine.sharded.shard import Floats, Indices
from fansrec.errors import BadSetting


@dataclass(frozen=True)
class Plan:
    """Shard s has categories `cuts[s]` to `cuts[s + 1]`; category c is items `starts[c]` to `starts[c + 1]`."""

    starts: tuple[int, ...]
    cuts: tuple[int, ...]

    @property
    def shards(self) -> int:
        return len(self.cuts) - 1

    @cached_property
    def items(self) -> Indices:
        """Return the bounds of the shards, (S + 1,): shard s has items `items[s]` to `items[s + 1]`."""
        return np.array([self.starts[cut] for cut in self.cuts], dtype=np.int64)

    def split(self, items: Indices) -> list[Indices]:
        """Divide item indices, in ascending order, among the shards."""
        return np.split(items, np.searchsorted(items, self.items[1:-1]))


def divide(starts: Sequence[int], shards: int) -> Plan:
    """Return the plan that cuts at the category bounds nearest to equal shares; every shard gets a category."""
    categories = len(starts) - 1
    if not 1 <= shards <= categories:
        raise BadSetting(f"{shards} shards cannot share {categories} categories; ask for 1 to {categories}")
    bounds, cuts = np.array(starts), [0]
    for shard in range(1, shards):
        nearest = int(np.abs(bounds - starts[-1] * shard / shards).argmin())
        cuts.append(min(max(nearest, cuts[-1] + 1), categories - (shards - shard)))
    return Plan(tuple(starts), (*cuts, categories))


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

    def __init__(self, shards: Sequence[Any]) -> None:
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
