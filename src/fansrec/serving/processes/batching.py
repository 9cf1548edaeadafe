"""The jobs that a worker got at once: which of them run together, and the reply of each."""

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from fansrec.errors import FansError
from fansrec.serving.processes.jobs import BUG, LATE, SIMILAR, Job, Reply
from fansrec.serving.processes.loaded_model import Heartbeat, LoadedModel, PreparedJob

log = logging.getLogger("fansrec.serving")


class Models(Protocol):
    def __getitem__(self, name: str, /) -> LoadedModel: ...


def answer_jobs(
    models: Models, jobs: Iterable[Job], max_tokens: int, heartbeat: Heartbeat = lambda: None
) -> Iterator[list[Reply]]:
    """Yield replies as soon as they are known; jobs of one model with equal rules run together, up to `max_tokens`.

    Jobs that request explanations, which take longer, run after the others.
    """
    groups: dict[tuple[bool, str, int], list[PreparedJob]] = {}
    known: list[Reply] = []  # refusals, and answers that the engine has no part in
    for job in jobs:
        if job.deadline < time.monotonic():
            known.append(Reply(job.id, error=LATE))
            continue
        try:
            if job.kind == SIMILAR:
                known.append(Reply(job.id, models[job.model].similar(job)))
                heartbeat()
                continue
            prepared = models[job.model].prepare(job)
            groups.setdefault((job.explain, job.model, id(prepared.rules)), []).append(prepared)
        except Exception as error:
            known.append(_refusal(job, error))
    if known:
        yield known
    for (_, name, _), group in sorted(groups.items(), key=lambda group: group[0][0]):  # those that explain come last
        for batch in _split(group, max_tokens):
            yield _run(models[name], batch, heartbeat)


def _split(jobs: Sequence[PreparedJob], max_tokens: int) -> Iterator[list[PreparedJob]]:
    batch: list[PreparedJob] = []
    for job in jobs:
        if batch and sum(other.tokens for other in batch) + job.tokens > max_tokens:
            yield batch
            batch = []
        batch.append(job)
    yield batch


def _run(model: LoadedModel, batch: list[PreparedJob], heartbeat: Heartbeat) -> list[Reply]:
    """Return the replies of a batch; when it fails each job runs alone, so that only the faulty one fails."""
    now = time.monotonic()
    current = [prepared for prepared in batch if prepared.job.deadline >= now]
    late = [Reply(prepared.job.id, error=LATE) for prepared in batch if prepared.job.deadline < now]
    try:
        bodies = model.run(current, heartbeat) if current else []
    except TimeoutError:
        return late + [Reply(prepared.job.id, error=LATE) for prepared in current]
    except Exception as error:
        if len(current) == 1:
            return [*late, _refusal(current[0].job, error)]
        return late + [reply for prepared in current for reply in _run(model, [prepared], heartbeat)]
    return late + [
        Reply(p.job.id, body, len(p.job.lists), len(p.job.lists) * p.job.k)
        for p, body in zip(current, bodies, strict=True)
    ]


def _refusal(job: Job, error: Exception) -> Reply:
    if isinstance(error, FansError):
        return Reply(job.id, error=type(error).__name__, detail=str(error))
    log.error("a request could not be answered", exc_info=error)
    return Reply(job.id, error=BUG, detail=type(error).__name__)
