"""All that a worker was given at once: which requests run together, and who gets which answer."""

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from fansrec.errors import FansError
from fansrec.serving.processes.answering import Alive, Job, Prepared, Reply, Served

log = logging.getLogger("fansrec.serving")


class Models(Protocol):
    def __getitem__(self, name: str, /) -> Served: ...


def answer_jobs(models: Models, jobs: Iterable[Job], budget: int, alive: Alive = lambda: None) -> Iterator[list[Reply]]:
    """Replies as soon as they are known; jobs of one model under the same rules run together, up to a token budget."""
    together: dict[tuple[str, int], list[Prepared]] = {}
    refused: list[Reply] = []
    for job in jobs:
        if job.deadline < time.monotonic():
            refused.append(Reply(job.id, error="late"))
            continue
        try:
            prepared = models[job.model].prepare(job)
            together.setdefault((job.model, id(prepared.rules)), []).append(prepared)
        except Exception as error:
            refused.append(_refusal(job, error))
    if refused:
        yield refused
    for (name, _), all_prepared in together.items():
        for some in _shares(all_prepared, budget):
            yield _replies(models[name], some, alive)


def _shares(jobs: Sequence[Prepared], budget: int) -> Iterator[list[Prepared]]:
    share: list[Prepared] = []
    for job in jobs:
        if share and sum(other.tokens for other in share) + job.tokens > budget:
            yield share
            share = []
        share.append(job)
    yield share


def _replies(model: Served, together: list[Prepared], alive: Alive) -> list[Reply]:
    """A request that fails is asked alone, so that it fails alone."""
    now = time.monotonic()
    current = [prepared for prepared in together if prepared.job.deadline >= now]
    late = [Reply(prepared.job.id, error="late") for prepared in together if prepared.job.deadline < now]
    try:
        bodies = model.run(current, alive) if current else []
    except TimeoutError:
        return late + [Reply(prepared.job.id, error="late") for prepared in current]
    except Exception as error:
        if len(current) == 1:
            return [*late, _refusal(current[0].job, error)]
        return late + [reply for prepared in current for reply in _replies(model, [prepared], alive)]
    return late + [
        Reply(p.job.id, body, len(p.inputs), len(p.inputs) * p.k) for p, body in zip(current, bodies, strict=True)
    ]


def _refusal(job: Job, error: Exception) -> Reply:
    if isinstance(error, FansError):
        return Reply(job.id, error=type(error).__name__, detail=str(error))
    log.error("a request could not be answered", exc_info=error)
    return Reply(job.id, error="bug", detail=type(error).__name__)
