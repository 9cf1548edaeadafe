"""`POST /v1/continue`: a request checked, queued, waited for, answered; in ASGI's own words, since it must be quick."""

import asyncio
import time

from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from fansrec.serving.http.bodies import read_body
from fansrec.serving.http.problems import Problem, invalid
from fansrec.serving.processes.dispatch import overload, too_late
from fansrec.serving.processes.queue import Waiting
from fansrec.serving.requests import ContinueRequest, request_type
from fansrec.serving.service import Service

CONTINUE = "/v1/continue"
JSON = "application/json"
LONGEST_TIMEOUT_MS = 3_600_000
BODIES_AT_ONCE = 64 << 20  # bytes
TIMEOUT_HEADER = {
    "name": "Fans-Timeout-Ms",
    "in": "header",
    "required": False,
    "description": "Milliseconds after which no answer is wanted any more",
    "schema": {"type": "integer", "minimum": 1, "maximum": LONGEST_TIMEOUT_MS},
}


class Continuing:
    def __init__(self, service: Service) -> None:
        self._service = service
        self.accepted = request_type(service.settings)
        self._reading = 0  # bytes of bodies that are on their way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await self.answer(scope, receive)
        headers = [(b"content-type", JSON.encode()), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def answer(self, scope: Scope, receive: Receive) -> bytes:
        since = time.monotonic()
        timeout = _checked_headers(scope, self._service.settings.timeout_ms)
        content = await self._read(scope, receive)
        try:
            asked: ContinueRequest = self.accepted.model_validate_json(content)
        except ValidationError as error:
            raise invalid(error) from None
        self._check_answer_size(asked)
        model = self._service.named(asked.model)["name"]
        waiting = self._service.dispatcher.ask(model, content, _cost(asked), since, since + timeout)
        return await self._waited_for(waiting, receive)

    def _check_answer_size(self, asked: ContinueRequest) -> None:
        """Refuse what would be answered with far more than was sent: many short lists and a large k."""
        most, wanted = self._service.settings.max_answer_items, len(asked.lists) * asked.k
        if wanted > most:
            detail = f"{len(asked.lists)} lists times k = {asked.k} are {wanted} items, more than {most}; split it."
            raise Problem(422, "answer-too-large", detail, limit=most)

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        """The body; many large ones that arrive slowly must not add up to more than the machine has."""
        most = self._service.settings.max_body_bytes
        told = [value for name, value in scope["headers"] if name == b"content-length"]
        size = min(most, int(told[0])) if told and told[0].isdigit() and len(told[0]) < 19 else most
        if self._reading + size > max(BODIES_AT_ONCE, most):
            raise overload()
        self._reading += size
        try:
            return await read_body(scope, receive, self._service.settings)
        finally:
            self._reading -= size

    async def _waited_for(self, waiting: Waiting, receive: Receive) -> bytes:
        """The answer, unless the deadline passes or the client leaves; then its work is dropped."""
        dispatcher = self._service.dispatcher
        timer = dispatcher.loop.call_later(max(0.0, waiting.deadline - time.monotonic()), _expire, waiting)
        # Work that has begun is finished anyway: only a request that waits is worth watching.
        leaving = None if waiting.started else asyncio.ensure_future(_leave(waiting, receive))
        try:
            return await waiting.answer
        finally:
            timer.cancel()
            if leaving is not None:
                leaving.cancel()
            dispatcher.forget(waiting)


def _cost(asked: ContinueRequest) -> int:
    """In tokens: items given and asked for; looking an item of a rule up takes about half as long."""
    lists = sum(map(len, asked.lists)) + asked.k * len(asked.lists)
    rules = len(asked.exclude) + len(asked.allow or ()) + len(asked.categories or ())
    return lists + rules // 2


def _checked_headers(scope: Scope, default_ms: int) -> float:
    """The seconds a request has; refused unless it is JSON."""
    kind, timeout = b"", default_ms / 1e3
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = value.partition(b";")[0].strip().lower()
        elif name == b"fans-timeout-ms":
            timeout = _seconds(value)
    if kind != JSON.encode():  # a page of another site can send other kinds without asking
        raise Problem(415, "not-json", f"Send the request as JSON, with the header Content-Type: {JSON}.")
    return timeout


def _seconds(value: bytes) -> float:
    if not (value.isdigit() and len(value) <= 7 and 1 <= int(value) <= LONGEST_TIMEOUT_MS):
        raise Problem(400, "bad-timeout", f"Fans-Timeout-Ms must be a whole number from 1 to {LONGEST_TIMEOUT_MS}.")
    return int(value) / 1e3


def _expire(waiting: Waiting) -> None:
    if not waiting.answer.done():
        waiting.answer.set_exception(too_late())


async def _leave(waiting: Waiting, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    waiting.answer.cancel()
