"""Waiting for the answer to a job: until its deadline, which a header may set, or until its client disconnects."""

import asyncio
import time

from starlette.types import Receive, Scope

from fansrec.serving.http.problems import Problem, deadline_problem
from fansrec.serving.processes.dispatch import Dispatcher
from fansrec.serving.processes.queue import QueuedRequest

MAX_TIMEOUT_MS = 3_600_000
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
    timer = dispatcher.loop.call_later(max(0.0, queued.job.deadline - time.monotonic()), _expire, queued)
    # Work that has begun is finished in any case, so only a request in the queue is worth watching.
    watch = None if queued.started else asyncio.ensure_future(_cancel_on_disconnect(queued, receive))
    try:
        return await queued.answer
    finally:
        timer.cancel()
        if watch is not None:
            watch.cancel()
        dispatcher.cancel(queued)


def _expire(queued: QueuedRequest) -> None:
    if not queued.answer.done():
        queued.answer.set_exception(deadline_problem())


async def _cancel_on_disconnect(queued: QueuedRequest, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    queued.answer.cancel()
