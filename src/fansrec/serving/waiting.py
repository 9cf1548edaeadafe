"""Waiting for the answer to a job: until its deadline, which a header may set, or until its client disconnects."""

import asyncio
import time

from starlette.types import Receive, Scope

from fansrec.serving.http.problems import Problem, deadline_problem
from fansrec.serving.processes.dispatch import Dispatcher
from fansrec.serving.processes.queue import QueuedRequest

MAX_TIMEOUT_MS = 3_600_000
WATCH_AFTER_S = 0.05  # in the queue, after which a request is dropped when its client disconnects
TIMEOUT_HEADER = {
    "name": "Fans-Timeout-Ms",
    "in": "header",
    "required": False,
    "description": "Milliseconds after which the answer is no longer needed",
    "schema": {"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_MS},
}


def read_timeout(scope: Scope, default_ms: int) -> float:
    """Return the timeout of a request in seconds."""
    for name, value in scope["headers"]:
        if name == b"fans-timeout-ms":
            return _seconds(value)
    return default_ms / 1e3


def _seconds(value: bytes) -> float:
    if not (value.isdigit() and len(value) <= 7 and 1 <= int(value) <= MAX_TIMEOUT_MS):
        raise Problem(400, "bad-timeout", f"Fans-Timeout-Ms must be a whole number from 1 to {MAX_TIMEOUT_MS}.")
    return int(value) / 1e3


async def wait_for_answer(dispatcher: Dispatcher, queued: QueuedRequest, receive: Receive) -> bytes:
    """Return the answer; drop the request when its deadline passes or its client disconnects."""
    limits = _Limits(dispatcher.loop, queued, receive)
    try:
        return await queued.answer
    finally:
        limits.cancel()
        dispatcher.cancel(queued)


class _Limits:
    """What ends the wait for an answer: its deadline and, once it was in the queue for a moment, its client's leaving.

    Work that has begun is finished in any case, so only a request in the queue is worth watching; and most leave it
    so soon that a task for each would cost more than it saves.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, queued: QueuedRequest, receive: Receive) -> None:
        self._loop, self._queued, self._receive = loop, queued, receive
        self._watch: asyncio.Task[None] | None = None
        self._timer = loop.call_later(min(self._left, WATCH_AFTER_S), self._look)

    @property
    def _left(self) -> float:
        return max(0.0, self._queued.job.deadline - time.monotonic())

    def _look(self) -> None:
        left = self._left
        if left == 0.0 and not self._queued.answer.done():
            self._queued.answer.set_exception(deadline_problem())
        elif left > 0.0:
            self._timer = self._loop.call_later(left, self._look)
            if self._watch is None and not self._queued.started:
                self._watch = self._loop.create_task(_cancel_on_disconnect(self._queued, self._receive))

    def cancel(self) -> None:
        self._timer.cancel()
        if self._watch is not None:
            self._watch.cancel()


async def _cancel_on_disconnect(queued: QueuedRequest, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    queued.answer.cancel()
