"""Who answers what: batches go to free workers, answers to those who wait, and the work of a lost worker to another."""

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
from fansrec.serving.http.problems import Problem, problem_of
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes.channel import Line, Message
from fansrec.serving.processes.queue import CROWDED, Queue, Waiting
from fansrec.serving.settings import Settings

log = logging.getLogger("fansrec.serving")

MOST_TRIES = 3  # of a request over which workers die: the fourth might die too
PING_SECONDS = 1.0
LEARNING = 0.02  # how much the latest answer counts for what is expected of the next


def overload() -> Problem:
    detail = "The service has as many requests as it can answer in time; try again in a second."
    return Problem(429, "overload", detail, retry_after=1)


# Told thousands of times a second, so it must cost nothing to make; never raised: that would keep all it passed alive.
OVERLOAD = overload()


@dataclass(eq=False)
class Worker:
    """A worker process as the front sees it."""

    line: Line
    pid: int
    lost: Callable[["Worker"], None]
    batch: dict[int, Waiting] = field(default_factory=dict)
    asked_at: float = 0.0  # when it was last given something, a batch or a ping; 0: it has answered
    heard_at: float = 0.0
    retiring: bool = False  # leaves when its batch is done
    fate: str = "died"  # what is said of it when it is gone: died or hung


class Dispatcher:
    def __init__(self, settings: Settings, metrics: Metrics, loop: AbstractEventLoop) -> None:
        self._settings, self._metrics, self.loop = settings, metrics, loop
        self.queue = Queue(settings.queue_requests, settings.queue_tokens)
        self._ids = itertools.count()
        self._shedding = False
        self._pace = 0.0  # seconds a worker takes for a token, of late; nothing is known yet
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        metrics.queue_requests.set_function(lambda: len(self.queue))
        metrics.queue_tokens.set_function(lambda: self.queue.tokens)
        metrics.workers.labels("ready").set_function(lambda: len(self._idle) + len(self._busy))
        metrics.workers.labels("busy").set_function(lambda: len(self._busy))

    # Requests

    def overloaded(self, tokens: int = 0) -> Problem | None:
        """A word to whom there is no room for.

        Once full, a queue is left to empty a little: at its very brim most would be read only to be refused.
        """
        longest = self._settings.queue_ms / 1e3
        if self.queue.full(tokens) or self._wait > longest:
            self._shedding = True
            return OVERLOAD
        self._shedding = self._shedding and (self.queue.crowded or self._wait > CROWDED * longest)
        return OVERLOAD if self._shedding else None

    @property
    def _wait(self) -> float:
        """Seconds that a request would wait now, if workers go on as they did."""
        return self.queue.tokens * self._pace / self._settings.worker_count

    def ask(self, model: str, body: bytes, tokens: int, since: float, deadline: float) -> Waiting:
        """Take a request in; its `answer` comes, or the Problem that prevents it."""
        request = Waiting(next(self._ids), model, body, tokens, since, deadline, self.loop.create_future())
        if self.overloaded(tokens):
            raise overload()
        self.queue.put(request)
        self._feed()
        return request

    def forget(self, request: Waiting) -> None:
        """Nobody waits for it any more: what has not begun never does."""
        self.queue.drop(request)
        request.answer.cancel()

    # Workers

    def welcome(self, worker: Worker) -> None:
        worker.line.heard = lambda message, content: self._heard(worker, message, content)
        worker.line.gone = lambda: self._gone(worker)
        worker.heard_at = time.monotonic()
        self._idle.append(worker)
        self._feed()

    def retire(self, worker: Worker) -> None:
        """Let a worker finish what it has, and no more."""
        worker.retiring = True
        if not worker.batch:
            if worker in self._idle:
                self._idle.remove(worker)
            worker.line.close()

    def _feed(self) -> None:
        while self._idle and self.queue:
            worker = self._idle.pop()  # the one that worked last: its memory is warm
            batch = self.queue.take(self._settings.batch_tokens, len(self._idle) + 1 + len(self._busy))
            now = time.monotonic()
            worker.batch = {request.id: request for request in batch}
            worker.asked_at = now
            self._busy.add(worker)
            jobs = [[r.id, r.model, len(r.body), r.since, r.deadline] for r in batch]
            message = {"kind": "batch", "budget": self._settings.batch_tokens, "jobs": jobs}
            worker.line.send(message, b"".join([request.body for request in batch]))
            for request in batch:
                request.started = now
                self._metrics.queue_seconds.observe(now - request.since)
            self._metrics.batch_requests.observe(len(batch))

    def _heard(self, worker: Worker, message: Message, content: bytes) -> None:
        worker.heard_at = time.monotonic()
        if message["kind"] == "pong":
            worker.asked_at = 0.0 if not worker.batch else worker.asked_at
            return
        start, answered, seconds = 0, [], worker.heard_at - worker.asked_at
        for id_, size, lists, items, error, detail in message["replies"]:
            request = worker.batch.pop(id_)
            self._settle(request, content[start : start + size], error, detail)
            answered.append((request.model, lists, items))
            if not error:
                self._learn(seconds / (len(message["replies"]) * request.tokens))
            start += size
        self.loop.call_soon(self._count, answered, seconds)  # after those who waited have their answers
        worker.asked_at = worker.heard_at
        if not worker.batch:
            self._free(worker)

    def _learn(self, pace: float) -> None:
        self._pace += LEARNING * (pace - self._pace) if self._pace else pace

    def _count(self, answered: list[tuple[str, int, int]], seconds: float) -> None:
        for model, lists, items in answered:
            self._metrics.lists.labels(model).inc(lists)
            self._metrics.items.labels(model).inc(items)
        self._metrics.engine_seconds.labels(answered[0][0]).observe(seconds)
        if total := sum(lists for _, lists, _ in answered):
            self._metrics.batch_lists.observe(total)

    def _settle(self, request: Waiting, content: bytes, error: str, detail: str) -> None:
        if request.answer.done():
            return
        if not error:
            request.answer.set_result(content)
        elif error == "late":
            request.answer.set_exception(too_late())
        elif error == "bug":
            request.answer.set_exception(Problem(500, "bug", f"the service failed over this request ({detail})"))
        else:
            request.answer.set_exception(problem_of(getattr(errors, error)(detail)))

    def _free(self, worker: Worker) -> None:
        worker.asked_at = 0.0
        self._busy.discard(worker)
        if worker.retiring:
            worker.line.close()
        else:
            self._idle.append(worker)
            self._feed()

    def _gone(self, worker: Worker) -> None:
        """A worker has died: its requests go back to the head of the queue, in their order."""
        self._busy.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        if not worker.retiring or worker.batch:
            self._metrics.deaths.labels(worker.fate).inc()
            log.warning("worker %d is gone; %d requests go to another", worker.pid, len(worker.batch))
        for request in reversed(worker.batch.values()):
            self._try_again(request)
        worker.batch = {}
        worker.lost(worker)
        self._feed()

    def _try_again(self, request: Waiting) -> None:
        request.tries += 1
        if request.answer.done():
            return
        if request.tries >= MOST_TRIES:
            detail = f"{request.tries} workers died over this request; it will not be tried again"
            request.answer.set_exception(Problem(500, "workers-died", detail))
            return
        self._metrics.retried.inc()
        self.queue.put_back(request)

    # Health of workers

    def look_after(self) -> None:
        """Called a few times a second: replace who hangs, ask the idle whether they live."""
        now = time.monotonic()
        for worker in [*self._busy, *self._idle]:
            if self._hangs(worker, now):
                log.warning("worker %d hangs and is replaced", worker.pid)
                worker.fate = "hung"
                kill(worker.pid)
                worker.line.close()
            elif not worker.asked_at and now - worker.heard_at > PING_SECONDS:
                worker.asked_at = now
                worker.line.send({"kind": "ping"})

    def _hangs(self, worker: Worker, now: float) -> bool:
        """Silent for too long, though a worker says now and then that it is alive; or busy for nobody any more."""
        patience = self._settings.hang_s
        silent = worker.asked_at > 0 and now - max(worker.asked_at, worker.heard_at) > patience
        for_nobody = bool(worker.batch) and all(r.deadline + patience < now for r in worker.batch.values())
        return silent or for_nobody


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def too_late() -> Problem:
    return Problem(
        504, "deadline", "the answer did not come within the deadline; ask for less, or allow more (Fans-Timeout-Ms)"
    )
