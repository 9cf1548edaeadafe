"""A connection: uvicorn's protocol with timeouts, lingering close, refusals, and clients that do not read."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from fansrec.serving.http.direct import DirectRequest
from fansrec.serving.http.logs import log_refusal
from fansrec.serving.http.message_size import MessageSize
from fansrec.serving.http.problems import Problem
from fansrec.serving.http.refusals import refusal_bytes
from fansrec.serving.http.timer import Timer
from fansrec.serving.http.transport import LingeringTransport
from fansrec.serving.http.unread_answers import UnreadAnswers
from fansrec.serving.settings import Settings

GRACE_S = 0.5  # how long an idle connection is kept for a request that has arrived, or when the service stops
MIN_READ = 2**16  # bytes of an answer that a client must read within the write timeout
ANSWERED = "fans.answered"  # in a scope: the status that the protocol has sent, whatever the application sends

Observer = Callable[[str, str, int, float], None]  # gets route, method, status and seconds of a request


class LimitedConnection(HttpToolsProtocol):
    limits: Settings
    observe: Observer
    unread: UnreadAnswers

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lingering: LingeringTransport = cast(Any, None)
        self.active: RequestResponseCycle | DirectRequest | None = None  # the request that is being answered
        self.in_headers = self.in_body = False  # of the request that is being read
        self.begun = 0  # requests that began within the bytes received last
        self.size = MessageSize(self.limits)
        self.held: tuple[RequestResponseCycle, Any] | None = None  # a request that waits until the client has read
        self.header_timer = Timer(self.loop)
        self.write_timer = Timer(self.loop)
        self.ignores_input = False  # the connection ends after the answers that are due
        self.draining = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.transport = cast(Any, LingeringTransport(transport, self.loop))
        self.lingering = cast(LingeringTransport, self.transport)
        over = len(self.connections) - self.limits.max_connections
        if over > self.limits.max_connections:  # too many even for a refusal
            transport.abort()
        elif over > 0:
            self.refuse(Problem(503, "too-many-connections", "Too many connections; try again soon.", retry_after=1))
        else:
            self.start_header_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self.header_timer.cancel()
        self._stop_watching()
        self._unset_keepalive_if_required()
        self.lingering.cancel_timer()
        if self.active is not None and not self.active.response_complete:  # uvicorn informs the newest one only
            self._disconnect_cycle(self.active)
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Answer requests that have arrived or are arriving, then close."""
        self.draining = True
        if self.busy():
            self.cycle.keep_alive = False
        elif not self.in_headers and not self.lingering.closing:
            self._unset_keepalive_if_required()
            self.header_timer.cancel()
            self.timeout_keep_alive_task = self.loop.call_later(GRACE_S, self.timeout_keep_alive_handler)

    def timeout_keep_alive_handler(self) -> None:
        """Close the idle connection, unless a request has arrived that was not read yet."""
        if not self.lingering.close_idle():
            self.timeout_keep_alive_task = self.loop.call_later(GRACE_S, self.timeout_keep_alive_handler)

    def busy(self) -> bool:
        return self.active is not None and not self.active.response_complete

    def _disconnect_cycle(self, cycle: RequestResponseCycle | DirectRequest) -> None:
        if isinstance(cycle, DirectRequest):
            cycle.disconnect()
        else:
            cycle.disconnected = True
            cycle.message_event.set()

    def begin_direct(self, request: DirectRequest) -> None:
        """Begin to answer a request that the parser has not read."""
        self._unset_keepalive_if_required()
        self.header_timer.cancel()
        self.active = request
        self.cycle = cast(Any, request)

    def end_direct(self, answer: bytes, keep_alive: bool) -> None:
        """Send the answer to such a request, and begin the next one."""
        self.lingering.write_complete(answer)
        if not keep_alive:
            self.transport.close()
        self.on_response_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self.active = cycle
        if self.flow.write_paused:  # nothing is computed for a client that has not read its previous answer
            self.held = cycle, app
        else:
            super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.in_headers:  # the next request is arriving and has its own timer
            self._unset_keepalive_if_required()

    def refuse(self, problem: Problem) -> None:
        """Answer a request that never reached the application, and close; answers to earlier requests go first."""
        self.ignores_input = True
        self.header_timer.cancel()
        active = self.active if self.busy() else None
        if active is not None and (self.in_headers or active is not self.cycle):
            if not self.in_headers:
                self.pipeline.popleft()  # the broken request itself, which waited
            (self.pipeline[0][0] if self.pipeline else active).keep_alive = False
            return
        if active is None:
            self.observe("other", "other", problem.status, 0.0)
        else:
            cast(dict[str, Any], active.scope)[ANSWERED] = problem.status
            self._disconnect_cycle(active)
            self.held = None  # a request that waited is not begun
        log_refusal(problem.kind)
        if active is None or not active.response_started:
            self.transport.write(refusal_bytes(problem, self.server_state.default_headers))
        self.lingering.linger = True
        self.transport.close()

    def start_header_timer(self) -> None:
        self.header_timer.start(self.limits.header_timeout_s, self._headers_too_slow)

    def _headers_too_slow(self) -> None:
        if not self.in_headers:  # no byte of a request has arrived, so there is nothing to answer
            if not self.lingering.close_idle():
                self.header_timer.start(GRACE_S, self._headers_too_slow)
            return
        limit = f"{self.limits.header_timeout_s:g} s"
        self.refuse(Problem(408, "slow-headers", f"The headers did not arrive within {limit}; send them at once."))

    def pause_writing(self) -> None:
        super().pause_writing()
        self.unread.add(self)
        self.loop.call_soon(self.unread.make_room)  # not at once: this may be in the middle of a write
        self._watch_reading()

    def _watch_reading(self) -> None:
        """Disconnect the client if it reads too little of its answer within the timeout."""
        self.write_timer.start(self.limits.write_timeout_s, self._check_reading, self.unsent_bytes())

    def _check_reading(self, unsent_before: int) -> None:
        if unsent_before - self.unsent_bytes() < MIN_READ:
            self.disconnect()
        else:
            self._watch_reading()

    def _stop_watching(self) -> None:
        self.unread.remove(self)
        self.write_timer.cancel()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_watching()
        if self.held is not None:
            held, self.held = self.held, None
            super()._start_asgi_task(*held)

    def unsent_bytes(self) -> int:
        return self.lingering.get_write_buffer_size()  # type: ignore[no-any-return]

    def disconnect(self) -> None:
        """Close the connection of a client that does not read."""
        log_refusal("answer-not-read")
        self.transport.abort()
