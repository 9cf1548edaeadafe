"""`POST /v1/continue`: validates a request, queues it and waits for its answer. Plain ASGI, since it must be fast."""

import asyncio
import time

from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from fansrec.serving.http.bodies import declared_length, read_body
from fansrec.serving.http.problems import Problem, deadline_problem, invalid_request
from fansrec.serving.processes.jobs import Job
from fansrec.serving.processes.queue import QueuedRequest
from fansrec.serving.requests import ContinueRequest, request_type
from fansrec.serving.service import Service

JSON = "application/json"
MAX_TIMEOUT_MS = 3_600_000
TIMEOUT_HEADER = {
    "name": "Fans-Timeout-Ms",
    "in": "header",
    "required": False,
    "description": "Milliseconds after which the answer is no longer needed",
    "schema": {"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_MS},
}


class ContinueRoute:
    def __init__(self, service: Service) -> None:
        self._service = service
        self.request_type = request_type(service.settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await self.answer(scope, receive)
        headers = [(b"content-type", JSON.encode()), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def answer(self, scope: Scope, receive: Receive) -> bytes:
        """Return the body of the answer; raise a Problem if there is none."""
        since = time.monotonic()
        settings, dispatcher = self._service.settings, self._service.dispatcher
        timeout = _check_headers(scope, settings.timeout_ms)
        with dispatcher.load.body_bytes.reserve(declared_length(scope, settings.max_body_bytes)):
            content = await read_body(scope, receive, settings)
        try:
            request: ContinueRequest = self.request_type.model_validate_json(content)
        except ValidationError as error:
            raise invalid_request(error) from None
        self._check_answer_size(request)
        model = self._service.model_named(request.model)["name"]
        deadline = since + timeout
        job = Job(
            next(dispatcher.ids), model, request.lists, request.k, request.rules, since, deadline, request.fallback
        )
        return await self._wait(dispatcher.submit(job, _cost(request)), receive)

    def _check_answer_size(self, request: ContinueRequest) -> None:
        """Refuse requests whose answer is much larger than the request: many short lists and a large k."""
        limit, count = self._service.settings.max_answer_items, len(request.lists) * request.k
        if count > limit:
            lists = f"{len(request.lists)} lists times k = {request.k}"
            raise Problem(
                422, "answer-too-large", f"{lists} are {count} items, more than {limit}; split it.", limit=limit
            )

    async def _wait(self, queued: QueuedRequest, receive: Receive) -> bytes:
        """Return the answer; drop the request when its deadline passes or its client disconnects."""
        dispatcher = self._service.dispatcher
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


def _cost(request: ContinueRequest) -> int:
    """Return the cost in tokens: items given and requested; an item of a rule costs about half as much."""
    lists = sum(map(len, request.lists)) + request.k * len(request.lists)
    rules = len(request.exclude) + len(request.allow or ()) + len(request.categories or ())
    return lists + rules // 2


def _check_headers(scope: Scope, default_ms: int) -> float:
    """Return the timeout of a request in seconds; raise a Problem if it is not JSON."""
    content_type, timeout = b"", default_ms / 1e3
    for name, value in scope["headers"]:
        if name == b"content-type":
            content_type = value.partition(b";")[0].strip().lower()
        elif name == b"fans-timeout-ms":
            timeout = _seconds(value)
    if content_type != JSON.encode():  # a page of another site can send other types without a preflight request
        raise Problem(415, "not-json", f"Send the request as JSON, with the header Content-Type: {JSON}.")
    return timeout


def _seconds(value: bytes) -> float:
    if not (value.isdigit() and len(value) <= 7 and 1 <= int(value) <= MAX_TIMEOUT_MS):
        raise Problem(400, "bad-timeout", f"Fans-Timeout-Ms must be a whole number from 1 to {MAX_TIMEOUT_MS}.")
    return int(value) / 1e3


def _expire(queued: QueuedRequest) -> None:
    if not queued.answer.done():
        queued.answer.set_exception(deadline_problem())


async def _cancel_on_disconnect(queued: QueuedRequest, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    queued.answer.cancel()
