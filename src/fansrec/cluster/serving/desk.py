"""What a replica does with models: reads them, and answers what fronts send. All of it takes time, none of it waits."""

import itertools
import time
from typing import Any

import torch

from fansrec.cluster.serving.config import Places
from fansrec.cluster.serving.holding import Holding
from fansrec.errors import FansError
from fansrec.files import format_os_error
from fansrec.serving.processes.answering import Job, Reply
from fansrec.serving.processes.batches import answer_jobs
from fansrec.serving.processes.channel import Message
from fansrec.serving.settings import Settings

Call = tuple[Message, bytes, float]  # what a front sent, and when it came
Answered = tuple[list[list[Any]], bytes]  # heads of the replies, and their contents one after another


class Desk:
    def __init__(self, settings: Settings) -> None:
        torch.set_num_threads(1)  # replicas are the threads, as workers are on one machine
        self.holding = Holding(settings.device, settings.backend)
        self._budget = settings.batch_tokens
        self._breath = 0.0  # when the engine was last heard of; 0: it rests

    @property
    def silent(self) -> float:
        """Seconds for which work that has begun shows no sign of life."""
        return time.monotonic() - self._breath if self._breath else 0.0

    def prepare(self, places: Places) -> dict[str, Any]:
        """Read models beside those that serve: what they are, or why they are refused."""
        try:
            return {"models": self.holding.load(places)}
        except (FansError, OSError) as error:
            kind = type(error).__name__ if isinstance(error, FansError) else "BadArtifact"
            return {"refused": kind, "detail": format_os_error(error) if isinstance(error, OSError) else str(error)}

    def answer(self, calls: list[Call]) -> list[Answered]:
        """All calls in one go; their jobs are numbered anew, since each front counts for itself."""
        numbers, found = itertools.count(), dict[int, Reply]()
        numbered = [[(row[0], job) for row, job in _jobs(call, numbers)] for call in calls]
        jobs = [job for call in numbered for _, job in call]
        self._breathe()
        try:
            for replies in answer_jobs(self.holding, jobs, self._budget, self._breathe):
                found |= {reply.id: reply for reply in replies}
        finally:
            self._breath = 0.0
        return [_told([(id_, found[job.id]) for id_, job in call]) for call in numbered]

    def _breathe(self) -> None:
        self._breath = time.monotonic()


def _jobs(call: Call, numbers: "itertools.count[int]") -> list[tuple[list[Any], Job]]:
    (message, content, came), start, jobs = call, 0, []
    for row in message["jobs"]:
        _, model, size, ago, left = row
        jobs.append((row, Job(next(numbers), model, content[start : start + size], came - ago, came + left)))
        start += size
    return jobs


def _told(replies: list[tuple[int, Reply]]) -> Answered:
    heads = [[id_, len(r.content), r.lists, r.items, r.error, r.detail] for id_, r in replies]
    return heads, b"".join(r.content for _, r in replies)
