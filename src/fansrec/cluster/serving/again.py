"""In Ray's HTTP proxies: a request whose front died is asked of another, and whoever is refused hears it as elsewhere.

A proxy answers the death of a replica with 500 and the error's text. All questions here but the two that change models
may be asked twice, so they are; Serve loads this by its setting for middlewares of the proxy.
"""

import asyncio
import os
from collections import deque

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fansrec.serving.http.admission import OTHER, ROUTES, Access, route_of
from fansrec.serving.http.problems import Problem, send_problem
from fansrec.serving.http.tracing import PLAIN_ID
from fansrec.serving.processes.dispatch import OVERLOAD

MOST_TRIES = 5
PAUSE_SECONDS = 0.1  # before the second try, twice as long before each further one
MOST_BYTES = 4 << 20  # of a body that is kept to be sent again
OURS = b"application/problem+json"
DIED = (500, 503)  # what a proxy says where no replica answered
NO_REPLICA = Problem(503, "no-replica", "No part of the service could answer; ask again.", retry_after=1)
REQUEST_ID = b"x-request-id"
# By these a client could tell Serve how to treat its request, which is nobody's business but the service's.
ORDERS = {
    b"x-request-timeout-seconds",
    b"x-request-disconnect-disabled",
    b"serve-multiplexed-model-id",
    b"x-session-id",
}
# A client that leaves is told to the application, which drops the work and counts it as left.
TELL_US = (b"x-request-disconnect-disabled", b"?1")


def middlewares() -> list[Middleware]:
    """What Serve's proxies are told to call."""
    return [Middleware(Again)]


class Again:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or route_of(scope["path"]) == OTHER:  # another application's
            return await self._app(scope, receive, send)
        tape = Tape(receive)
        for tries in range(MOST_TRIES if _repeatable(scope) else 1):
            await asyncio.sleep(PAUSE_SECONDS * 2 ** (tries - 1) if tries else 0)
            answer = Answer(send)
            await self._app({**scope, "headers": _without_orders(scope["headers"])}, tape.from_the_start(), answer.send)
            if answer.passed or answer.full or tape.ended:
                break
        if not (answer.passed or tape.left):
            await send_problem(answer.send_on, OVERLOAD if answer.full else NO_REPLICA, os.urandom(8).hex())
        return None


def _repeatable(scope: Scope) -> bool:
    return ROUTES.get(scope["path"]) is not Access.ADMIN


def _without_orders(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """As the service reads them: an id that it would not take makes Serve's proxy fail."""
    kept = [(name, value) for name, value in headers if name.lower().replace(b"_", b"-") not in ORDERS]
    return [h for h in kept if h[0].lower() != REQUEST_ID or PLAIN_ID.fullmatch(h[1])] + [TELL_US]


class Tape:
    """A request as it was read, to be read once more."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read: list[Message] = []
        self._bytes = 0
        self.left = False  # whether the client has gone

    @property
    def ended(self) -> bool:
        return self.left or self._bytes > MOST_BYTES

    def from_the_start(self) -> Receive:
        behind = deque(self._read)

        async def receive() -> Message:
            if behind:
                return behind.popleft()
            message = await self._receive()
            self.left = message["type"] == "http.disconnect"
            self._bytes += len(message.get("body", b""))
            if not self.ended:
                self._read.append(message)
            return message

        return receive


class Answer:
    """Passed on, unless it is the proxy's own word that nobody answered."""

    def __init__(self, send: Send) -> None:
        self.send_on = send
        self.passed = False
        self.full = False  # asking a full service again would only make it fuller
        self._lost = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = message.get("headers", ())
            own = any(name.lower() == b"content-type" and value == OURS for name, value in headers)
            self.full = message["status"] == 429 and not own
            self._lost = self.full or (message["status"] in DIED and not own)
            message = {**message, "headers": _named_once(headers)}
        if not self._lost:
            self.passed = True
            await self.send_on(message)


def _named_once(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """A request has one id: that of the service, which Serve's proxy repeats."""
    ids = [at for at, (name, _) in enumerate(headers) if name.lower() == REQUEST_ID]
    return [header for at, header in enumerate(headers) if at not in ids[1:]]
