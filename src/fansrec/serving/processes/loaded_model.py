"""A model in a worker: turns the items of requests into item indices, runs the engine, and formats the answers."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import to_json

from fansrec.api.answers import SCORE_DIGITS
from fansrec.api.continuer import Continuer
from fansrec.api.formatting import format_answer
from fansrec.api.popular import NONE
from fansrec.api.similar import UNKNOWN_ITEM
from fansrec.api.unknown import DidYouMean, is_unknown, refuse_unknown
from fansrec.engine.interface import Continuation, requested_counts
from fansrec.engine.rules import Rules
from fansrec.errors import FansError
from fansrec.serving.processes.jobs import Job

LISTS_PER_CALL = 64  # models without a kernel of their own hold a score of every item for each list
TOKENS_PER_CALL = 4096  # between two calls of the engine a worker sends a heartbeat
MAX_CACHED_RULES_BYTES = 4096  # many large ones would take much memory
CACHED_RULES = 64

Heartbeat = Callable[[], None]
Explained = list[dict[str, Any]] | None  # the explanations of the items of an answer, if they were requested


@dataclass(frozen=True)
class PreparedJob:
    """A job whose items and rules are item indices of the model."""

    job: Job
    inputs: list[NDArray[np.int64]]  # of the lists that the engine continues: all but those of only unknown items
    unknown: list[list[object]]  # of every list
    continued: list[bool]  # whether the engine continues it
    rules: Rules

    @property
    def tokens(self) -> int:
        return sum(len(given) + self.job.k for given in self.inputs)


@dataclass
class LoadedModel:
    """A model in memory, with caches of what many requests use."""

    name: str
    continuer: Continuer
    target: tuple[str, str] | None = None  # device and backend that workers move to, if not the CPU
    _rules: dict[bytes, Rules] = field(default_factory=dict)

    def move_to_device(self) -> None:
        """Open the model on its device; each worker calls this once, after it was forked."""
        if self.target is not None:
            device, backend = self.target
            generation = self.continuer.engine.generation
            self.continuer = Continuer(self.continuer.artifact, device, backend, generation)

    def prepare(self, job: Job) -> PreparedJob:
        rules = self.rules(job.rules)
        if job.explain:
            self.continuer.explanations  # noqa: B018  it refuses models that cannot explain
        longest, catalog = self.continuer.artifact.stored.longest_sequence(), len(self.continuer.vocabulary)
        prepared = PreparedJob(job, [], [], [], rules)
        for position, items in enumerate(job.lists):
            try:
                indices, unknown = self.continuer.indices(items)
                if len(job.lists) == 1 and job.fallback == NONE:
                    refuse_unknown(indices, unknown, self.continuer.vocabulary)
                requested_counts([indices], job.k, catalog, longest)
            except FansError as error:
                raise type(error)(f"lists.{position}: {error}") from error
            prepared.unknown.append(unknown)
            prepared.continued.append(not is_unknown(indices, unknown))
            if prepared.continued[-1]:
                prepared.inputs.append(indices)
        return prepared

    def rules(self, given: dict[str, Any]) -> Rules:
        """Return the same object for the same rules, since engines cache what they derive from the last ones."""
        key = to_json(given) if given else b""
        if len(key) > MAX_CACHED_RULES_BYTES:
            return self.continuer.rules(**given)
        if key not in self._rules:
            while len(self._rules) >= CACHED_RULES:
                del self._rules[next(iter(self._rules))]
            self._rules[key] = self.continuer.rules(**given)
        return self._rules[key]

    def run(self, batch: Sequence[PreparedJob], heartbeat: Heartbeat) -> list[bytes]:
        """Return the answers of jobs that share their rules, in calls of a limited number of lists and tokens.

        Either all of the jobs request explanations, or none.
        """
        inputs = [given for prepared in batch for given in prepared.inputs]
        counts = [prepared.job.k for prepared in batch for _ in prepared.inputs]
        deadline = max(prepared.job.deadline for prepared in batch)
        answers: list[Continuation] = []
        for start, end in _calls(inputs, counts):
            if deadline < time.monotonic():
                raise TimeoutError
            answers += self.continuer.engine.continue_lists(inputs[start:end], counts[start:end], batch[0].rules)
            heartbeat()
        explanations: Iterable[Explained] = repeat(None)
        if batch[0].job.explain:
            explanations = self._explain(inputs, counts, answers, deadline, heartbeat)
        rest = zip(answers, explanations, strict=False)
        return [self.body(prepared, [next(rest) for _ in prepared.inputs]) for prepared in batch]

    def _explain(
        self,
        inputs: Sequence[NDArray[np.int64]],
        counts: Sequence[int],
        answers: Sequence[Continuation],
        deadline: float,
        heartbeat: Heartbeat,
    ) -> Iterator[Explained]:
        """Yield the explanations of each answer; each of them takes several calls of the engine."""
        for given, count, answer in zip(inputs, counts, answers, strict=True):
            if deadline < time.monotonic():
                raise TimeoutError
            yield from self.continuer.explanations.fields([given], [count], [answer], SCORE_DIGITS)
            heartbeat()

    def body(self, prepared: PreparedJob, answers: Iterable[tuple[Continuation, Explained]]) -> bytes:
        """Return the body of the HTTP answer to a job; `answers` are those of the engine, with explanations."""
        job, rules, rest = prepared.job, prepared.rules, iter(answers)
        did_you_mean = DidYouMean(self.continuer.vocabulary)
        return to_json(
            {
                "model": self._identity,
                "milliseconds": round((time.monotonic() - job.since) * 1e3, 3),
                "answers": [
                    self._format(*next(rest), unknown, job.k, rules)
                    if continued
                    else self.continuer.answer_unknown(
                        unknown, did_you_mean(unknown), job.k, rules, job.fallback, SCORE_DIGITS
                    )
                    for unknown, continued in zip(prepared.unknown, prepared.continued, strict=True)
                ],
            }
        )

    def _format(
        self, answer: Continuation, explanations: Explained, unknown: list[object], k: int, rules: Rules
    ) -> dict[str, Any]:
        return format_answer(answer, unknown, k, rules, self.continuer.details, SCORE_DIGITS, explanations)

    def similar(self, job: Job) -> bytes:
        """Return the body of the HTTP answer to a job of the kind SIMILAR."""
        ((item,),) = job.lists
        continuer = self.continuer
        known, unknown = continuer.indices([item])
        refuse_unknown(known, unknown, continuer.vocabulary, UNKNOWN_ITEM)
        fields = continuer.similar.fields(int(known[0]), job.k, SCORE_DIGITS)
        return to_json(
            {
                "model": self._identity,
                "item": continuer.details(int(known[0])),
                "items": fields["positions"],
                "reason": fields["reason"],
            }
        )

    @property
    def _identity(self) -> dict[str, str]:
        return {"name": self.name, "hash": self.continuer.artifact.hash}


def _calls(inputs: Sequence[NDArray[np.int64]], counts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the range of lists of each call of the engine."""
    start = tokens = 0
    for position, (given, count) in enumerate(zip(inputs, counts, strict=True)):
        size = len(given) + count
        if position > start and (position - start >= LISTS_PER_CALL or tokens + size > TOKENS_PER_CALL):
            yield start, position
            start, tokens = position, 0
        tokens += size
    if inputs:
        yield start, len(inputs)
