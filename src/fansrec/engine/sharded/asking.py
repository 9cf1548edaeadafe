"""Shards asked together: who has to be asked for what, and their answers in the order of the question."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fansrec.engine.rules import Rules
from fansrec.engine.sharded.plan import Plan
from fansrec.engine.sharded.shard import Floats, LocalShard, Numbers, Question, Shortlists


class Shards(Protocol):
    """However they are reached."""

    def ask(self, method: str, questions: Mapping[int, tuple[Any, ...]]) -> list[Any]:
        """The answers to `questions` (shard: arguments), in their order; the shards work at the same time."""
        ...

    def share(self, numbers: Numbers) -> Any:
        """A large argument of many questions, to be sent once."""
        ...


class InProcess:
    """Shards on the devices of this process."""

    def __init__(self, shards: Sequence[LocalShard]) -> None:
        self.shards = shards
        # On one device, above all on a CPU, they would only be in each other's way.
        self._threads = ThreadPoolExecutor(len(shards)) if len({shard.device for shard in shards}) > 1 else None

    def ask(self, method: str, questions: Mapping[int, tuple[Any, ...]]) -> list[Any]:
        if self._threads is None:
            return [getattr(self.shards[shard], method)(*asked) for shard, asked in questions.items()]
        begun = [
            self._threads.submit(getattr(self.shards[shard], method), *asked) for shard, asked in questions.items()
        ]
        return [answer.result() for answer in begun]

    def share(self, numbers: Numbers) -> Any:
        return numbers


def vectors_of(shards: Shards, plan: Plan, items: Numbers) -> Floats | None:
    """(n, D) for item numbers in rising order; None for none."""
    questions = {shard: (own,) for shard, own in enumerate(plan.split(items)) if len(own)}
    return np.concatenate(shards.ask("vectors", questions)) if questions else None


@dataclass(frozen=True)
class Positions:
    """R positions that wait for an item, and the category each is to be looked up in."""

    lists: Numbers  # (R,)
    places: Numbers  # (R,): in their lists
    hidden: Floats  # (R, D)
    categories: Numbers  # (R,)
    chances: Floats  # (R,): the log-probability of the category

    def at(self, rows: NDArray[Any]) -> "Positions":
        return Positions(*(getattr(self, field.name)[rows] for field in fields(self)))


class Seen:
    """The items that each list of a batch may not have again."""

    def __init__(self, inputs: Sequence[Numbers], starts: Sequence[int]) -> None:
        self._starts = np.array(starts, dtype=np.int64)
        lists = np.repeat(np.arange(len(inputs)), [len(items) for items in inputs])
        flat = np.concatenate([np.zeros(0, dtype=np.int64), *inputs])
        self._keys = np.unique(lists * self._starts[-1] + flat)  # list after list, items in rising order

    def among(self, lists: Numbers, categories: Numbers) -> tuple[Numbers, Numbers]:
        """For each row, a list and a category, the items of both: rows and items, (X,) each."""
        base = lists * self._starts[-1]
        first, last = (self._keys.searchsorted(base + self._starts[categories + end]) for end in (0, 1))
        counts = last - first
        rows = np.repeat(np.arange(len(lists)), counts)
        places = np.arange(len(rows)) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        return rows, self._keys[places] - base[rows]


class RulesOfShards:
    """The part of rules that is alike for all lists, as each shard takes it."""

    def __init__(self, rules: Rules, groups: Sequence[Any] | None, plan: Plan, shards: Shards) -> None:
        excluded, allowed = (np.unique(np.array(some or (), dtype=np.int64)) for some in (rules.exclude, rules.allow))
        self._excluded = [shards.share(own) for own in plan.split(excluded)]
        self._allowed = None if rules.allow is None else [shards.share(own) for own in plan.split(allowed)]
        self._groups = groups
        self.most_of_group = rules.max_per_group
        self._floor = -np.inf if rules.min_score is None else rules.min_score
        self._open = np.diff(np.searchsorted(allowed, plan.starts)) > 0 if rules.allow is not None else None  # (N,)

    def hopeful(self, positions: Positions) -> NDArray[np.bool_]:
        """Where the category has an allowed item, and is itself as likely as its items must be."""
        likely: NDArray[np.bool_] = positions.chances.astype(float) >= self._floor
        return likely if self._open is None else likely & self._open[positions.categories]

    def of(self, shard: int) -> tuple[Any, Any, Any]:
        allowed = None if self._allowed is None else self._allowed[shard]
        return self._excluded[shard], allowed, None if self._groups is None else self._groups[shard]


def shortlists_of(
    shards: Shards, plan: Plan, positions: Positions, seen: Seen, rules: RulesOfShards, count: int
) -> Shortlists:
    """The best `count` items of every position, from whichever shards have its category."""
    if not len(positions.lists):
        return Shortlists(np.zeros((0, count), dtype=np.float32), np.zeros((0, count), dtype=np.int64))
    order = positions.categories.argsort(kind="stable")
    ends = np.searchsorted(positions.categories[order], plan.cuts)
    asked = {shard: order[ends[shard] : ends[shard + 1]] for shard in range(plan.shards)}
    questions = {
        shard: (_question(positions.at(rows), seen, rules, count), *rules.of(shard))
        for shard, rows in asked.items()
        if len(rows)
    }
    answers = shards.ask("best", questions)
    back = order.argsort()
    return Shortlists(*(np.concatenate(parts)[back] for parts in zip(*answers, strict=True)))


def _question(own: Positions, seen: Seen, rules: RulesOfShards, count: int) -> Question:
    blocked = seen.among(own.lists, own.categories)
    return Question(own.hidden, own.categories, own.chances, *blocked, count, rules.most_of_group)
