"""The HTTP parser's side of a connection: limits on what a client may send and how much of it."""

import logging
from collections.abc import Callable

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from fansrec.serving.http.bodies import unsupported_transfer
from fansrec.serving.http.connection import LimitedConnection, Observer
from fansrec.serving.http.direct import DirectHandler, DirectRequest, NoDirectHandler
from fansrec.serving.http.logs import log_refusal
from fansrec.serving.http.problems import Problem
from fansrec.serving.http.refusal_pace import RefusalPace
from fansrec.serving.http.refusals import is_complete_request, overload_bytes
from fansrec.serving.http.routes import CONTINUE
from fansrec.serving.http.unread_answers import UnreadAnswers
from fansrec.serving.settings import Settings

HEADER_FRAMING = 4  # bytes around a header: its colon, its space and the end of its line
CHUNK_FRAMING = 16  # bytes around a chunk: its size, and the ends of two lines
MAX_PIPELINED = 32  # requests of one connection that may wait for the one before them

Overloaded = Callable[[], Problem | None]


def protocol_class(
    limits: Settings,
    observe: Observer = lambda *_: None,
    overloaded: Overloaded = lambda: None,
    unread: UnreadAnswers | None = None,
    direct: DirectHandler | None = None,
    pace: RefusalPace | None = None,
) -> type[HttpToolsProtocol]:
    """Return the class to give uvicorn as `http`; `observe` is called for refusals that never reach the application.

    While `overloaded` returns a problem, requests to continue lists get it as their answer, at the `pace` of refusals.
    `direct` answers requests without the parser.
    """
    members = {"limits": limits, "observe": staticmethod(observe), "overloaded": staticmethod(overloaded)}
    members |= {"unread": unread or UnreadAnswers(limits.max_unsent_bytes), "direct": direct or NoDirectHandler()}
    members |= {"pace": pace or RefusalPace()}
    return type("ServiceProtocol", (LimitedProtocol,), members)


class LimitedProtocol(LimitedConnection):
    overloaded: Overloaded
    direct: DirectHandler
    pace: RefusalPace

    def data_received(self, data: bytes) -> None:
        if self.ignores_input or self.lingering.closing:
            self._drop(len(data))
            return
        idle = self._is_idle()
        if idle and self._answered_unparsed(data):
            return
        self.begun, in_request = 0, self.in_headers or self.in_body
        try:
            self.parser.feed_data(data)
            if self.begun + in_request == 1:  # the bytes belong to one request
                self.size.add_received(len(data))
            self._check_sizes(len(data))
            if idle and self.begun == 1 and not self.in_headers and not self.in_body:
                self.direct.learn(self, data)
        except Problem as problem:
            self.refuse(problem)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.refuse(_problem_of(error))

    def _check_sizes(self, received: int) -> None:
        if self.in_headers and self.begun:
            self.start_header_timer()
        elif self.in_headers:
            self.size.add_unparsed(received)
        elif self.busy():
            self.size.check_framing()
        elif self.in_body:  # it has been answered already, so the rest of the body is dropped
            self._drop(received)

    def _answered_unparsed(self, data: bytes) -> bool:
        """Answer a request of an idle connection without the parser if possible; return False if it needs it."""
        problem = self.overloaded()
        return self.direct.begin(self, data) if problem is None else self._refused_at_once(problem, data)

    def _refused_at_once(self, problem: Problem, data: bytes) -> bool:
        """At overload, refuse a request without parsing it or creating a task."""
        if not is_complete_request(data, b"POST %s HTTP/1.1\r\n" % CONTINUE.path.encode()):
            return False
        self.observe(CONTINUE.path, "POST", problem.status, 0.0)
        log_refusal(problem.kind)
        delay = self.pace.delay()
        if delay:
            self._refuse_later(problem, delay)
        else:
            self.header_timer.cancel()
            self.lingering.write_complete(overload_bytes(problem))
            self.on_response_complete()
        return True

    def _refuse_later(self, problem: Problem, delay: float) -> None:
        """Refuse a request after a delay, in which the connection counts as busy."""
        request = DirectRequest(self)

        def refuse() -> None:
            request.send_bytes(overload_bytes(problem))
            request.release()

        def leave() -> None:
            timer.cancel()
            request.release()

        timer = self.loop.call_later(delay, refuse)
        request.on_disconnect = leave

    def _is_idle(self) -> bool:
        """Return whether the connection does nothing, so that the parser does not have to see the next request."""
        busy = self.in_headers or self.in_body or self.busy() or self.draining or self.write_timer.running
        return not busy

    def _drop(self, size: int) -> None:
        if self.size.drop(size):
            self.lingering.close_now()

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._unset_keepalive_if_required()
        self.in_headers = self.lingering.linger = True
        self.begun += 1
        self.size.reset()

    def on_url(self, url: bytes) -> None:
        self.size.add_headers(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.size.add_headers(len(name) + len(value) + HEADER_FRAMING)
        if self.in_headers:  # trailers of a chunked body would change a request that has been checked
            super().on_header(name, value)

    def on_chunk_header(self) -> None:
        self.size.subtract(CHUNK_FRAMING)

    def on_body(self, body: bytes) -> None:
        self.size.subtract(len(body))
        super().on_body(body)

    def on_headers_complete(self) -> None:
        self._check_head()
        super().on_headers_complete()
        self.in_headers, self.in_body = False, True
        self.header_timer.cancel()
        if self.draining or self.expect_100_continue:  # after a refused 100-continue the body may or may not follow
            self.cycle.keep_alive = False

    def _check_head(self) -> None:
        """Raise a Problem for requests that a proxy before the service may have understood differently."""
        version = self.parser.get_http_version()
        if self.parser.should_upgrade():
            raise Problem(400, "no-upgrade", "Only plain HTTP/1.1 is supported; leave out the Upgrade header.")
        if version not in ("1.0", "1.1"):
            raise Problem(400, "http-version", "Only HTTP/1.1 (and 1.0) is supported.")
        codings = [value.strip().lower() for name, value in self.headers if name == b"transfer-encoding"]
        if codings and version == "1.0":
            detail = "HTTP/1.0 has no chunked bodies; send a Content-Length, or use HTTP/1.1."
            raise Problem(400, "chunked-http-1.0", detail)
        if codings not in ([], [b"chunked"]):
            raise unsupported_transfer()
        if len(self.pipeline) >= MAX_PIPELINED:
            raise Problem(429, "pipeline-too-long", f"At most {MAX_PIPELINED} requests may wait on one connection.")

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.in_body = self.lingering.linger = False


def _problem_of(error: Exception) -> Problem:
    """Return the Problem that one of our callbacks raised, or one for bytes that the parser refused."""
    if isinstance(error.__context__, Problem):
        return error.__context__
    logging.getLogger(__name__).debug("not HTTP: %r", error)
    return Problem(400, "bad-http", "This is not a valid HTTP/1.1 request; check its lines, lengths and encoding.")
