"""A request that is answered without the parser, ASGI and a task, because its head is known."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from fansrec.serving.http.tracing import Trace, trace_of

if TYPE_CHECKING:
    from fansrec.serving.http.connection import LimitedConnection

Header = tuple[bytes, bytes]
NOBODY_WAITS = asyncio.Event()  # uvicorn sets the event of a request whose client has left


def _do_nothing() -> None: ...


class DirectHandler(Protocol):
    """Decides which requests are answered directly, and answers them."""

    def begin(self, connection: "LimitedConnection", data: bytes) -> bool:
        """Begin to answer the request of an idle connection; return False if it has to go the usual way."""

    def learn(self, connection: "LimitedConnection", data: bytes) -> None:
        """Take note of a request that the parser has read, so that others like it can be answered directly."""


class NoDirectHandler:
    """Lets all requests go the usual way."""

    def begin(self, connection: "LimitedConnection", data: bytes) -> bool:
        return False

    def learn(self, connection: "LimitedConnection", data: bytes) -> None:
        pass


class DirectRequest:
    """A request that has begun; it has what connections use of uvicorn's `RequestResponseCycle`."""

    message_event = NOBODY_WAITS

    def __init__(self, connection: "LimitedConnection", trace: Trace | None = None, own_headers: bytes = b"") -> None:
        """`own_headers` are the lines of those that every answer has, except those of the trace."""
        self.since = time.perf_counter()
        self.trace = trace or trace_of(None, None, None)
        self.scope: dict[str, Any] = {}  # where the connection notes an answer of its own
        self.keep_alive, self.disconnected = True, False
        self.response_started = self.response_complete = False
        self.on_disconnect: Callable[[], None] = _do_nothing
        self._connection: LimitedConnection | None = connection
        self._own_headers = own_headers
        connection.begin_direct(self)

    def disconnect(self) -> None:
        """Take note that nobody waits for the answer any more."""
        self.disconnected = True
        self.on_disconnect()

    def send(self, status: int, headers: Sequence[Header], body: bytes) -> None:
        """Send the whole answer, unless the client has left."""
        if self._connection is None:
            return
        before = lines_of([*self._connection.server_state.default_headers, *headers])
        end = b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n"
        answer = [STATUS_LINE[status], before, self._own_headers, lines_of(self.trace.headers()), end, body]
        self.send_bytes(b"".join(answer))

    def send_bytes(self, answer: bytes) -> None:
        """Send an answer that has its headers."""
        if not self.disconnected and self._connection is not None:
            self.response_started = self.response_complete = True
            self._connection.end_direct(answer, self.keep_alive)

    def release(self) -> None:
        """Let go of what the request refers to: an idle connection keeps its last request, but not lists and answer."""
        self.on_disconnect, self._connection = _do_nothing, None


def lines_of(headers: Sequence[Header]) -> bytes:
    """Return the headers as they are sent."""
    return b"".join([b"%s: %s\r\n" % header for header in headers])
