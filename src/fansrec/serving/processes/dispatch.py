"""The dispatcher: sends batches to idle workers, replies to waiting requests, and retries the work of lost workers."""

import contextlib
import itertools
import logging
import os
import signal
import time
from asyncio import AbstractEventLoop
from collections.abc import Callable
from dataclasses import dataclass, field

from fansrec import errors
from fansrec.serving.http.problems import Problem, deadline_problem, problem_of
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes.channel import Channel, Message
from fansrec.serving.processes.jobs import BUG, LATE, Job, Reply, unpack_replies
from fansrec.serving.processes.load_limits import LoadLimits, overload_problem
from fansrec.serving.processes.queue import Queue, QueuedRequest
from fansrec.serving.settings import Settings

log = logging.getLogger("fansrec.serving")

MAX_FAILURES = 3  # a request fails after this many workers died while processing it
PING_SECONDS = 1.0


@dataclass(eq=False)
class Worker:
    """The front process's view of a worker process."""

    channel: Channel
    pid: int
    on_lost: Callable[["Worker"], None]
    batch: dict[int, QueuedRequest] = field(default_factory=dict)
    waiting_since: float = 0.0  # since the last batch, ping or part of the reply; 0: no reply is expected
    received_at: float = 0.0
    retiring: bool = False  # ends when its batch is done
    cause: str = "died"  # label of the metric if the worker is lost: died or hung


class Dispatcher:
    def __init__(self, settings: Settings, metrics: Metrics, loop: AbstractEventLoop) -> None:
        self._settings, self._metrics, self.loop = settings, metrics, loop
        self.queue = Queue(settings.queue_requests, settings.queue_tokens)
        self.load = LoadLimits(settings, self.queue)
        self.ids = itertools.count()  # of jobs
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        metrics.queue_requests.set_function(lambda: len(self.queue))
        metrics.queue_tokens.set_function(lambda: self.queue.tokens)
        metrics.workers.labels("ready").set_function(lambda: len(self._idle) + len(self._busy))
        metrics.workers.labels("busy").set_function(lambda: len(self._busy))

    def submit(self, job: Job, tokens: int) -> QueuedRequest:
        """Queue a request, whose future `answer` resolves to the response body or raises a Problem.

        Raise the problem of an overload if the queue is too long for a request of this many tokens.
        """
        if self.load.refusal(tokens):
            raise overload_problem()
        request = QueuedRequest(job, tokens, self.loop.create_future(), time.monotonic())
        self.queue.put(request)
        self._dispatch()
        return request

    def cancel(self, request: QueuedRequest) -> None:
        """Drop a request that nobody waits for; work that has begun is finished."""
        self.queue.remove(request)
        request.answer.cancel()

    # Workers

    def add_worker(self, worker: Worker) -> None:
        worker.channel.on_message = lambda message, content: self._receive(worker, message, content)
        worker.channel.on_close = lambda: self._worker_lost(worker)
        worker.received_at = time.monotonic()
        self._idle.append(worker)
        self._dispatch()

    def retire_worker(self, worker: Worker) -> None:
        """Let a worker finish its batch and send it nothing more."""
        worker.retiring = True
        if not worker.batch:
            if worker in self._idle:
                self._idle.remove(worker)
            worker.channel.close()

    def _dispatch(self) -> None:
        while self._idle and self.queue:
            worker = self._idle.pop()  # the one that worked last, since its caches are warm
            batch = self.queue.take_batch(self._settings.batch_tokens, len(self._idle) + 1 + len(self._busy))
            now = time.monotonic()
            worker.batch = {request.id: request for request in batch}
            worker.waiting_since = now
            self._busy.add(worker)
            jobs = [request.job for request in batch]
            worker.channel.send({"kind": "batch", "budget": self._settings.batch_tokens, "jobs": jobs})
            for request in batch:
                request.started = now
                self._metrics.queue_seconds.observe(now - request.job.since)
            self._metrics.batch_requests.observe(len(batch))
            if not batch[0].failures:  # those of a lost worker waited for another reason
                self.load.observe_delay(now - batch[0].queued)

    def _receive(self, worker: Worker, message: Message, content: bytes) -> None:
        worker.received_at = time.monotonic()
        if message["kind"] == "pong":
            worker.waiting_since = 0.0 if not worker.batch else worker.waiting_since
            return
        answered, tokens, seconds = [], 0, worker.received_at - worker.waiting_since
        for reply in unpack_replies(message["replies"], content):
            request = worker.batch.pop(reply.id)
            _resolve(request, reply)
            answered.append((request.job.model, reply.lists, reply.items))
            tokens += 0 if reply.error else request.tokens
        if tokens:
            self.load.observe_pace(seconds, tokens)
        self.loop.call_soon(self._record_metrics, answered, seconds)  # after the waiting requests have their answers
        worker.waiting_since = worker.received_at
        if not worker.batch:
            self._release(worker)

    def _record_metrics(self, answered: list[tuple[str, int, int]], seconds: float) -> None:
        self._metrics.observe_replies(answered, seconds)

    def _release(self, worker: Worker) -> None:
        worker.waiting_since = 0.0
        self._busy.discard(worker)
        if worker.retiring:
            worker.channel.close()
        else:
            self._idle.append(worker)
            self._dispatch()

    def _worker_lost(self, worker: Worker) -> None:
        """Return the requests of a worker that has died to the head of the queue, in their order."""
        self._busy.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        if not worker.retiring or worker.batch:
            self._metrics.deaths.labels(worker.cause).inc()
            log.warning("worker %d was lost while it processed %d requests", worker.pid, len(worker.batch))
        for request in reversed(worker.batch.values()):
            self._retry(request)
        worker.batch = {}
        worker.on_lost(worker)
        self._dispatch()

    def _retry(self, request: QueuedRequest) -> None:
        request.failures += 1
        if request.answer.done():
            return
        if request.failures >= MAX_FAILURES:
            detail = f"{request.failures} workers died while processing this request; it will not be tried again"
            request.answer.set_exception(Problem(500, "workers-died", detail))
            return
        self._metrics.retried.inc()
        request.started = 0.0  # it is in the queue again, where its client may leave
        self.queue.put_first(request)

    # Health of workers

    def check_workers(self) -> None:
        """Kill workers that hang and ping idle ones; called a few times a second."""
        now = time.monotonic()
        for worker in [*self._busy, *self._idle]:
            if self._hangs(worker, now):
                log.warning("worker %d is hung and will be replaced", worker.pid)
                worker.cause = "hung"
                kill(worker.pid)
                worker.channel.close()
            elif not worker.waiting_since and now - worker.received_at > PING_SECONDS:
                worker.waiting_since = now
                worker.channel.send({"kind": "ping"})

    def _hangs(self, worker: Worker, now: float) -> bool:
        """Return whether a worker has been silent for too long, or works only on requests long past their deadline."""
        limit = self._settings.hang_s
        silent = worker.waiting_since > 0 and now - max(worker.waiting_since, worker.received_at) > limit
        expired = bool(worker.batch) and all(r.job.deadline + limit < now for r in worker.batch.values())
        return silent or expired


def _resolve(request: QueuedRequest, reply: Reply) -> None:
    if request.answer.done():
        return
    if not reply.error:
        request.answer.set_result(reply.content)
    elif reply.error == LATE:
        request.answer.set_exception(deadline_problem())
    elif reply.error == BUG:
        detail = f"the service failed while it answered this request ({reply.detail})"
        request.answer.set_exception(Problem(500, "bug", detail))
    else:
        request.answer.set_exception(problem_of(getattr(errors, reply.error)(reply.detail)))


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
