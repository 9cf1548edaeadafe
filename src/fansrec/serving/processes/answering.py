"""Requests in, answers out: what a worker does with a model."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json, to_json

from fansrec.api.continuer import Continuer
from fansrec.api.formatting import shortage_reason
from fansrec.engine.interface import Continuation, requested_counts
from fansrec.engine.rules import Rules
from fansrec.errors import FansError

LISTS_AT_ONCE = 64  # models without a kernel of their own hold a score of every item for each
TOKENS_AT_ONCE = 4096  # between calls of the engine a worker shows that it lives
LARGEST_KEPT_RULES = 4096  # bytes: many large ones would take much memory
REMEMBERED_RULES = 64
REMEMBERED_ITEMS = 1 << 13  # the popular ones; more would take memory in every worker
RULES = ("exclude", "allow", "categories", "max_per_group", "min_score", "keep_seen")

Alive = Callable[[], None]


@dataclass(frozen=True)
class Job:
    """One request as the front sent it: checked there, so that only what needs a model can be wrong with it."""

    id: int
    model: str
    body: bytes
    since: float  # when it came, by the clock all processes of a machine share
    deadline: float


@dataclass(frozen=True)
class Reply:
    id: int
    content: bytes = b""
    lists: int = 0
    items: int = 0
    error: str = ""  # the kind of FansError that refuses it; "late"; "bug"
    detail: str = ""


@dataclass(frozen=True)
class Prepared:
    """A job in the model's own numbers."""

    job: Job
    inputs: list[NDArray[np.int64]]
    unknown: list[list[object]]
    k: int
    rules: Rules

    @property
    def tokens(self) -> int:
        return sum(len(given) + self.k for given in self.inputs)


@dataclass
class Served:
    """A loaded model, with what requests ask of it again and again."""

    name: str
    continuer: Continuer
    elsewhere: tuple[str, str] | None = None  # device and backend that workers go to, if not the CPU
    _rules: dict[bytes, Rules] = field(default_factory=dict)

    def settle(self) -> None:
        """Called once by each worker, after it was forked."""
        if self.elsewhere is not None:
            device, backend = self.elsewhere
            generation = self.continuer.engine.generation
            self.continuer = Continuer(self.continuer.artifact, device, backend, generation)

    def prepare(self, job: Job) -> Prepared:
        request = from_json(job.body)
        k = request.get("k", 10)
        rules = self.rules({name: request[name] for name in RULES if name in request})
        inputs, unknown = [], []
        for place, items in enumerate(request["lists"]):
            try:
                numbers, strangers = self.continuer.indices(items)
                requested_counts([numbers], k, len(self.continuer.vocabulary), self._longest)
            except FansError as error:
                raise type(error)(f"lists.{place}: {error}") from error
            inputs.append(numbers)
            unknown.append(strangers)
        return Prepared(job, inputs, unknown, k, rules)

    def rules(self, given: dict[str, Any]) -> Rules:
        """The same object for the same rules: engines keep what they made of the last ones."""
        key = to_json(given) if given else b""
        if len(key) > LARGEST_KEPT_RULES:
            return self.continuer.rules(**given)
        if key not in self._rules:
            while len(self._rules) >= REMEMBERED_RULES:
                del self._rules[next(iter(self._rules))]
            self._rules[key] = self.continuer.rules(**given)
        return self._rules[key]

    def run(self, together: Sequence[Prepared], alive: Alive) -> list[bytes]:
        """The answers of requests that share their rules, in calls of at most so many lists and tokens."""
        inputs = [given for prepared in together for given in prepared.inputs]
        wanted = [prepared.k for prepared in together for _ in prepared.inputs]
        last = max(prepared.job.deadline for prepared in together)
        answers: list[Continuation] = []
        for start, end in _calls(inputs, wanted):
            if last < time.monotonic():
                raise TimeoutError
            answers += self.continuer.engine.continue_lists(inputs[start:end], wanted[start:end], together[0].rules)
            alive()
        rest = iter(answers)
        return [self.body(prepared, [next(rest) for _ in prepared.inputs]) for prepared in together]

    def body(self, prepared: Prepared, answers: Iterable[Continuation]) -> bytes:
        return to_json(
            {
                "model": {"name": self.name, "hash": self.continuer.artifact.hash},
                "milliseconds": round((time.monotonic() - prepared.job.since) * 1e3, 3),
                "answers": [
                    self._answer(answer, unknown, prepared)
                    for answer, unknown in zip(answers, prepared.unknown, strict=True)
                ],
            }
        )

    def _answer(self, answer: Continuation, unknown: list[object], asked: Prepared) -> dict[str, Any]:
        scores = answer.scores.astype(np.float64).round(6).tolist()
        given = len(scores)
        return {
            "positions": [
                {**self.details(item), "score": score}
                for item, score in zip(answer.items.tolist(), scores, strict=True)
            ],
            "unknown": unknown,
            "reason": None if given == asked.k else shortage_reason(given, asked.k, asked.rules),
        }

    @cached_property
    def details(self) -> Any:
        vocabulary = self.continuer.vocabulary

        @lru_cache(REMEMBERED_ITEMS)
        def details(item: int) -> dict[str, Any]:
            return {
                "item": vocabulary.id(item),
                "name": vocabulary.name(item),
                "group": vocabulary.group(item),
                "category": vocabulary.category(item),
            }

        return details

    @cached_property
    def _longest(self) -> int | None:
        longest: int | None = self.continuer.artifact.model.longest_sequence()
        return longest


def _calls(inputs: Sequence[NDArray[np.int64]], wanted: Sequence[int]) -> Iterator[tuple[int, int]]:
    """From which to which list each call of the engine goes."""
    start = tokens = 0
    for place, (given, count) in enumerate(zip(inputs, wanted, strict=True)):
        size = len(given) + count
        if place > start and (place - start >= LISTS_AT_ONCE or tokens + size > TOKENS_AT_ONCE):
            yield start, place
            start, tokens = place, 0
        tokens += size
    yield start, len(inputs)
