"""Connections: uvicorn's protocol, with bounds on what a client may send, how much of it, and how slowly."""

import asyncio
import logging
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol, cast

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from fansrec.serving.http.closing import PoliteTransport
from fansrec.serving.http.logs import refused
from fansrec.serving.http.problems import Problem
from fansrec.serving.http.refusing import Refusal, is_whole_request
from fansrec.serving.http.tracing import new_id
from fansrec.serving.http.unsent import Unsent

MOST_PIPELINED = 32  # requests of one connection that may wait for the one before them
GRACE_S = 0.5  # when told to stop: a request that is on its way over an idle connection is still taken
DROPPED_BODIES = 16  # so many times the largest body is read and dropped, for clients that read only after they sent
FRAMING = 4  # bytes around a header: its colon, its space and the end of its line
CHUNK = 16  # bytes around a chunk: its size, and the ends of two lines
LEAST_READ = 2**16  # bytes of an answer that a client must read within the time for writing
ANSWERED = "fans.answered"  # in a scope: the status its client got from here, whatever the application sends

Seen = Callable[[str, str, int, float], None]  # route, method, status, seconds


class ConnectionLimits(Protocol):
    """What the settings say about connections."""

    @property
    def max_connections(self) -> int: ...
    @property
    def max_header_bytes(self) -> int: ...
    @property
    def header_timeout_s(self) -> float: ...
    @property
    def write_timeout_s(self) -> float: ...
    @property
    def max_unsent_bytes(self) -> int: ...
    @property
    def max_body_bytes(self) -> int: ...


def protocol_class(
    limits: ConnectionLimits,
    seen: Seen = lambda *_: None,
    busy_route: str = "",
    overloaded: Callable[[], Problem | None] = lambda: None,
    unsent: Unsent | None = None,
) -> type[HttpToolsProtocol]:
    """The class to give uvicorn as `http`; `seen` hears of refusals that never reach the application.

    While `overloaded` gives a problem, it is the answer to whoever posts to `busy_route`.
    """
    members = {"limits": limits, "seen": staticmethod(seen), "overloaded": staticmethod(overloaded)}
    members |= {"unsent": unsent or Unsent(limits.max_unsent_bytes)}
    return type("BoundedProtocol", (Bounded,), members | {"busy_route": busy_route})


class Bounded(HttpToolsProtocol):
    limits: ConnectionLimits
    seen: Seen
    busy_route: str
    overloaded: Callable[[], Problem | None]
    unsent: Unsent

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.polite: PoliteTransport = cast(Any, None)
        self.active: RequestResponseCycle | None = None  # the request the application has
        self.in_headers = self.in_body = False  # of the request that is being read
        self.begun = 0  # how many requests began with the bytes at hand
        self.header_bytes = self.waited_bytes = self.dropped_bytes = 0
        self.framing_bytes = 0  # of a request: all that is neither body, nor what frames its chunks
        self.held: tuple[RequestResponseCycle, Any] | None = None  # a request that begins when the client has read
        self.header_timer: asyncio.TimerHandle | None = None
        self.write_timer: asyncio.TimerHandle | None = None
        self.deaf = False  # nothing more is read: the connection ends after the answers that are due
        self.draining = False

    # The connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.transport = cast(Any, PoliteTransport(transport, self.loop))
        self.polite = cast(PoliteTransport, self.transport)
        over = len(self.connections) - self.limits.max_connections
        if over > self.limits.max_connections:  # not even a word to so many
            transport.abort()
        elif over > 0:
            self._refuse(Problem(503, "too-many-connections", "Too many connections; try again soon.", retry_after=1))
        else:
            self._arm_header_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_header_timer()
        self._stop_write_timer()
        self.unsent.remove(self)
        self._unset_keepalive_if_required()
        self.polite.forget()
        if self.active is not None and not self.active.response_complete:  # uvicorn tells the newest only
            self.active.disconnected = True
            self.active.message_event.set()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Answer what has arrived or is arriving, then close."""
        self.draining = True
        if self._busy():
            self.cycle.keep_alive = False
        elif not self.in_headers and not self.polite.closing:
            self._unset_keepalive_if_required()
            self._stop_header_timer()
            self.timeout_keep_alive_task = self.loop.call_later(GRACE_S, self.timeout_keep_alive_handler)

    def _busy(self) -> bool:
        return self.active is not None and not self.active.response_complete

    # Bytes from the client

    def data_received(self, data: bytes) -> None:
        if self.deaf or self.polite.closing:
            self._drop(len(data))
            return
        if self._refused_at_once(data):
            return
        self.begun, under_way = 0, self.in_headers or self.in_body
        try:
            self.parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._refuse(_problem_behind(error))
            return
        if self.begun + under_way == 1:  # the bytes are all of one request
            # Never below 0: many small chunks would earn room for large extensions.
            self.framing_bytes = max(0, self.framing_bytes + len(data))
        if self.in_headers:
            self._wait_for_headers(len(data))
        elif self._busy() and self.framing_bytes - self.header_bytes > self.limits.max_header_bytes:
            self._refuse(self._overframed())
        elif self.in_body and not self._busy():  # its answer has gone out: the rest is not wanted
            self._drop(len(data))

    def _refused_at_once(self, data: bytes) -> bool:
        """At overload, where nothing else is under way: not parsed, no task made for it."""
        problem = self.overloaded()
        if problem is None or self.in_headers or self.in_body or self._busy() or self.draining or self.write_timer:
            return False
        if not is_whole_request(data, b"POST %s HTTP/1.1\r\n" % self.busy_route.encode()):
            return False
        self._stop_header_timer()
        self.polite.write_whole(refusal_of(problem).bytes())
        self.seen(self.busy_route, "POST", problem.status, 0.0)
        refused(problem.kind)
        self.on_response_complete()
        return True

    def _wait_for_headers(self, size: int) -> None:
        if self.begun:
            self._arm_header_timer()
            return
        self.waited_bytes += size
        if self.waited_bytes > self.limits.max_header_bytes:  # one endless header, which the parser keeps to itself
            self._refuse(self._oversized())

    def _drop(self, size: int) -> None:
        self.dropped_bytes += size
        if self.dropped_bytes > DROPPED_BODIES * self.limits.max_body_bytes:
            self.polite.end()

    # What the parser finds

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._unset_keepalive_if_required()
        self.in_headers = self.polite.linger = True
        self.begun += 1
        self.header_bytes = self.waited_bytes = self.dropped_bytes = self.framing_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + FRAMING)
        if self.in_headers:  # those after a chunked body would change a request that has been looked at
            super().on_header(name, value)

    def _count(self, size: int) -> None:
        self.header_bytes += size
        if self.header_bytes > self.limits.max_header_bytes:
            raise self._oversized()

    def _oversized(self) -> Problem:
        most = self.limits.max_header_bytes
        return Problem(431, "headers-too-large", f"The headers are larger than {most} bytes; send less.", limit=most)

    def _overframed(self) -> Problem:
        most = self.limits.max_header_bytes
        detail = f"What surrounds the body (extensions of chunks, spaces) has more than {most} bytes; leave it out."
        return Problem(431, "framing-too-large", detail, limit=most)

    def on_chunk_header(self) -> None:
        self.framing_bytes -= CHUNK

    def on_body(self, body: bytes) -> None:
        self.framing_bytes -= len(body)
        super().on_body(body)

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            raise Problem(400, "no-upgrade", "Only plain HTTP/1.1 is spoken here; leave out the Upgrade header.")
        if self.parser.get_http_version() not in ("1.0", "1.1"):
            raise Problem(400, "http-version", "Only HTTP/1.1 (and 1.0) is spoken here.")
        self._check_transfer()
        if len(self.pipeline) >= MOST_PIPELINED:
            raise Problem(429, "pipeline-too-long", f"At most {MOST_PIPELINED} requests may wait on one connection.")
        super().on_headers_complete()
        self.in_headers, self.in_body = False, True
        self._stop_header_timer()
        if self.draining or self.expect_100_continue:  # a refused 100-continue leaves open whether the body comes
            self.cycle.keep_alive = False

    def _check_transfer(self) -> None:
        """Refuse codings of the transfer that a proxy before the service may have read in another way."""
        codings = [value.strip().lower() for name, value in self.headers if name == b"transfer-encoding"]
        if codings and self.parser.get_http_version() == "1.0":
            raise Problem(
                400, "chunked-http-1.0", "HTTP/1.0 has no chunked bodies; send a Content-Length, or HTTP/1.1."
            )
        if codings not in ([], [b"chunked"]):
            raise Problem(400, "unsupported-transfer", "Send the body with a Content-Length or chunked, nothing else.")

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.in_body = self.polite.linger = False

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self.active = cycle
        if self.flow.write_paused:  # nothing is computed for a client that has not read the answer before
            self.held = cycle, app
        else:
            super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.in_headers:  # the next request is arriving: it has its own timer
            self._unset_keepalive_if_required()

    # Refusals

    def _refuse(self, problem: Problem) -> None:
        """Answer what never reached the application, and close; answers to earlier requests go first."""
        self.deaf = True
        self._stop_header_timer()
        active = self.active if self._busy() else None
        if active is not None and (self.in_headers or active is not self.cycle):
            if not self.in_headers:
                self.pipeline.popleft()  # the broken request itself, which waited
            (self.pipeline[0][0] if self.pipeline else active).keep_alive = False
            return
        if active is None:
            self.seen("other", "other", problem.status, 0.0)
        else:
            cast(dict[str, Any], active.scope)[ANSWERED] = problem.status
            active.disconnected = True
            active.message_event.set()
            self.held = None  # if it was held back, it is not begun any more
        refused(problem.kind)
        self._answer(problem, started=active is not None and active.response_started)

    def _answer(self, problem: Problem, started: bool) -> None:
        request_id = new_id()
        body = problem.body(request_id)
        own = [
            (b"x-request-id", request_id.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"connection", b"close"),
        ]
        headers = self.server_state.default_headers + problem.raw_headers(len(body)) + own
        lines = [b"%s: %s\r\n" % header for header in headers]
        if not started:
            self.transport.write(b"".join([STATUS_LINE[problem.status], *lines, b"\r\n", body]))
        self.polite.linger = True
        self.transport.close()

    # Clients that are slow

    def _arm_header_timer(self) -> None:
        if self.header_timer is None:
            self.header_timer = self.loop.call_later(self.limits.header_timeout_s, self._headers_too_slow)

    def _headers_too_slow(self) -> None:
        self.header_timer = None
        if not self.in_headers:  # not one byte came: nothing to answer
            self.transport.close()
            return
        limit = f"{self.limits.header_timeout_s:g} s"
        self._refuse(Problem(408, "slow-headers", f"The headers did not arrive within {limit}; send them at once."))

    def pause_writing(self) -> None:
        super().pause_writing()
        self.unsent.add(self)
        self.loop.call_soon(self.unsent.make_room)  # not at once: this may be in the middle of a write
        self._arm_write_timer(self.unsent_bytes())

    def resume_writing(self) -> None:
        super().resume_writing()
        self.unsent.remove(self)
        self._stop_write_timer()
        if self.held is not None:
            held, self.held = self.held, None
            super()._start_asgi_task(*held)

    def unsent_bytes(self) -> int:
        return self.polite.get_write_buffer_size()  # type: ignore[no-any-return]

    def cut_off(self) -> None:
        refused("answer-not-read")
        self.transport.abort()

    def _arm_write_timer(self, unsent: int) -> None:
        self.write_timer = self.loop.call_later(self.limits.write_timeout_s, self._check_reader, unsent)

    def _check_reader(self, unsent_before: int) -> None:
        """Close the connection unless its client has read on since the last look."""
        unsent = self.unsent_bytes()
        if unsent_before - unsent < LEAST_READ:
            self.cut_off()
        else:
            self._arm_write_timer(unsent)

    def _stop_header_timer(self) -> None:
        if self.header_timer is not None:
            self.header_timer.cancel()
            self.header_timer = None

    def _stop_write_timer(self) -> None:
        if self.write_timer is not None:
            self.write_timer.cancel()
            self.write_timer = None


refusal_of = cache(Refusal)


def _problem_behind(error: Exception) -> Problem:
    """What a callback of ours raised, or a plain word on what the parser did not take."""
    if isinstance(error.__context__, Problem):
        return error.__context__
    logging.getLogger(__name__).debug("not HTTP: %r", error)
    return Problem(400, "bad-http", "This is not a sound HTTP/1.1 request; check its lines, lengths and encoding.")
