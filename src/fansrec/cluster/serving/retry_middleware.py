"""Middleware in Ray's HTTP proxies: sends a request whose front died to another one, and rewrites Ray's own refusals.

A proxy answers the death of a replica with 500 and the error's text. All requests but the two that change models may be
sent twice, so they are. Ray Serve loads this through its setting for middlewares of the proxy.
"""

import asyncio
import os
from collections import deque

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fansrec.serving.http.problems import Problem, send_problem
from fansrec.serving.http.routes import OTHER, Access, access_level, route_name
from fansrec.serving.http.tracing import PLAIN_ID
from fansrec.serving.processes.load_limits import OVERLOAD

MAX_ATTEMPTS = 5
PAUSE_SECONDS = 0.1  # before the second attempt, twice as long before each further one
MAX_BODY_BYTES = 4 << 20  # of a body that is kept to be sent again
PROBLEM_TYPE = b"application/problem+json"
REPLICA_DIED = (500, 503)  # statuses of a proxy when no replica answered
NO_REPLICA = Problem(
    503, "no-replica", "No replica of the service could answer; send the request again.", retry_after=1
)
REQUEST_ID = b"x-request-id"
# With these a client could control how Ray Serve treats its request.
SERVE_HEADERS = {
    b"x-request-timeout-seconds",
    b"x-request-disconnect-disabled",
    b"serve-multiplexed-model-id",
    b"x-session-id",
}
# The application itself hears of a client that disconnects, drops the work and counts it.
NO_DISCONNECT = (b"x-request-disconnect-disabled", b"?1")


def middlewares() -> list[Middleware]:
    """Return the middlewares of Ray Serve's proxies."""
    return [Middleware(RetryMiddleware)]


class RetryMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or route_name(scope["path"]) == OTHER:  # of another application
            return await self._app(scope, receive, send)
        request = RecordedRequest(receive)
        repeatable = access_level(scope["path"]) is not Access.ADMIN
        for attempt in range(MAX_ATTEMPTS if repeatable else 1):
            await asyncio.sleep(PAUSE_SECONDS * 2 ** (attempt - 1) if attempt else 0)
            answer = ProxyAnswer(send)
            await self._app({**scope, "headers": _clean_headers(scope["headers"])}, request.replay(), answer.send)
            if answer.forwarded or answer.overloaded or request.not_repeatable:
                break
        if not (answer.forwarded or request.disconnected):
            await send_problem(send, OVERLOAD if answer.overloaded else NO_REPLICA, os.urandom(8).hex())
        return None


def _clean_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers without those for Ray Serve, and without a request id at which its proxy would fail."""
    kept = [(name, value) for name, value in headers if name.lower().replace(b"_", b"-") not in SERVE_HEADERS]
    return [h for h in kept if h[0].lower() != REQUEST_ID or PLAIN_ID.fullmatch(h[1])] + [NO_DISCONNECT]


class RecordedRequest:
    """The messages of a request, recorded so that they can be read again."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._messages: list[Message] = []
        self._bytes = 0
        self.disconnected = False

    @property
    def not_repeatable(self) -> bool:
        return self.disconnected or self._bytes > MAX_BODY_BYTES

    def replay(self) -> Receive:
        """Return a `receive` that begins with the recorded messages."""
        recorded = deque(self._messages)

        async def receive() -> Message:
            if recorded:
                return recorded.popleft()
            message = await self._receive()
            self.disconnected = message["type"] == "http.disconnect"
            self._bytes += len(message.get("body", b""))
            if not self.not_repeatable:
                self._messages.append(message)
            return message

        return receive


class ProxyAnswer:
    """Forwards an answer, unless it is the proxy's own message that no replica answered."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.forwarded = False
        self.overloaded = False  # a repeated request would only add to the overload
        self._discarded = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = message.get("headers", ())
            own = any(name.lower() == b"content-type" and value == PROBLEM_TYPE for name, value in headers)
            self.overloaded = message["status"] == 429 and not own
            self._discarded = self.overloaded or (message["status"] in REPLICA_DIED and not own)
            message = {**message, "headers": _single_request_id(headers)}
        if not self._discarded:
            self.forwarded = True
            await self._send(message)


def _single_request_id(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers with the first request id only, which is that of the service; Ray's proxy adds another."""
    ids = [at for at, (name, _) in enumerate(headers) if name.lower() == REQUEST_ID]
    return [header for at, header in enumerate(headers) if at not in ids[1:]]
