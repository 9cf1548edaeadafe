"""The blocking work of a model replica: reads models and answers the calls of fronts."""

import itertools
import time
from dataclasses import replace
from typing import Any

import torch

from fansrec.cluster.serving.config import Specs
from fansrec.cluster.serving.model_cache import ModelCache
from fansrec.errors import FansError
from fansrec.files import format_os_error
from fansrec.serving.processes.batching import answer_jobs
from fansrec.serving.processes.channel import Message
from fansrec.serving.processes.jobs import Job, Reply, Rows, pack_replies
from fansrec.serving.settings import Settings

Call = tuple[Message, float]  # the message that a front sent, and when it arrived
CallResult = tuple[Rows, bytes]  # packed replies


class ReplicaEngine:
    def __init__(self, settings: Settings) -> None:
        torch.set_num_threads(1)  # replicas run in parallel instead, as workers do on one machine
        self.models = ModelCache(settings.device, settings.backend)
        self._max_tokens = settings.batch_tokens
        self._heartbeat_at = 0.0  # 0: no work is in progress

    @property
    def silent_seconds(self) -> float:
        """Seconds for which work in progress has given no sign of life."""
        return time.monotonic() - self._heartbeat_at if self._heartbeat_at else 0.0

    def prepare(self, specs: Specs) -> dict[str, Any]:
        """Read models beside those that serve; return their descriptions, or why they are refused."""
        try:
            return {"models": self.models.load(specs)}
        except (FansError, OSError) as error:
            kind = type(error).__name__ if isinstance(error, FansError) else "BadArtifact"
            return {"refused": kind, "detail": format_os_error(error) if isinstance(error, OSError) else str(error)}

    def answer(self, calls: list[Call]) -> list[CallResult]:
        """Answer all calls together; their jobs get new ids, since each front counts for itself."""
        ids, found = itertools.count(), dict[int, Reply]()
        renumbered = [[(job.id, job._replace(id=next(ids))) for job in _jobs(call)] for call in calls]
        jobs = [job for call in renumbered for _, job in call]
        self._heartbeat()
        try:
            for replies in answer_jobs(self.models, jobs, self._max_tokens, self._heartbeat):
                found |= {reply.id: reply for reply in replies}
        finally:
            self._heartbeat_at = 0.0
        return [pack_replies([replace(found[job.id], id=id_) for id_, job in call]) for call in renumbered]

    def _heartbeat(self) -> None:
        self._heartbeat_at = time.monotonic()


def _jobs(call: Call) -> list[Job]:
    """Return the jobs of a call, with its durations as moments of this machine's clock."""
    message, arrived = call
    return [job._replace(since=arrived - job.since, deadline=arrived + job.deadline) for job in message["jobs"]]
