"""`POST /v1/continue` on the shortest way: requests whose heads are known, from the socket to the queue and back."""

import asyncio
import logging
import time
from typing import Any, cast

from fansrec.errors import FansError
from fansrec.serving.continue_request import ContinueFields
from fansrec.serving.continue_route import continue_job
from fansrec.serving.http.access import check_key
from fansrec.serving.http.connection import ANSWERED, LimitedConnection
from fansrec.serving.http.direct import DirectRequest, lines_of
from fansrec.serving.http.known_heads import KnownHead, KnownHeads, parts_of
from fansrec.serving.http.middleware import CLIENT_DISCONNECTED, SECURITY_HEADERS, ServiceMiddleware, read_headers
from fansrec.serving.http.problems import Problem, deadline_problem, internal_problem, problem_of, stopping_problem
from fansrec.serving.http.routes import CONTINUE, is_continue
from fansrec.serving.http.tracing import trace_of
from fansrec.serving.json_requests import JSON, check_type
from fansrec.serving.processes.jobs import CONTINUE as JOB
from fansrec.serving.processes.queue import QueuedRequest
from fansrec.serving.service import Service
from fansrec.serving.waiting import read_timeout

# Headers that change the answer, or how the request is read: such requests go the usual way.
SPECIAL = frozenset((b"transfer-encoding", b"content-encoding", b"upgrade", b"origin", b"tracestate"))
TRACE = frozenset((b"x-request-id", b"traceparent"))
(METHOD,) = CONTINUE.methods

log = logging.getLogger("fansrec.serving")


class DirectContinue:
    """A DirectHandler: an earlier request with an equal head has passed all checks that depend on the head alone."""

    def __init__(self, service: Service, middleware: ServiceMiddleware) -> None:
        self._service, self._middleware, self._heads = service, middleware, KnownHeads()
        self._max_body = min(service.settings.max_body_bytes, service.validator.max_inline_bytes(JOB))
        self._own_headers = lines_of([*SECURITY_HEADERS, *middleware.cors_headers({})])

    def learn(self, connection: LimitedConnection, data: bytes) -> None:
        scope, cycle = cast(dict[str, Any], connection.cycle.scope), connection.cycle
        if not is_continue(scope["path"], scope["method"]) or not cycle.keep_alive:
            return
        parts, headers = parts_of(data), scope["headers"]
        names = {name for name, _ in headers}
        if parts is None or parts.body != cycle.body or names & SPECIAL or names & TRACE - parts.values.keys():
            return
        try:
            self._middleware.check_head(headers)
            check_type(scope)
            timeout_s = read_timeout(scope, self._service.settings.timeout_ms)
        except Problem:
            return  # the usual way answers with it
        self._heads.add(parts.head, KnownHead(read_headers(headers), timeout_s))

    def begin(self, connection: LimitedConnection, data: bytes) -> bool:
        parts = parts_of(data)
        head = self._heads.get(parts.head) if parts is not None else None
        if parts is None or head is None or len(parts.body) > self._max_body or self._service.draining:
            return False
        trace = trace_of(parts.values.get(b"x-request-id"), parts.values.get(b"traceparent"), None)
        request = DirectRequest(connection, trace, self._own_headers)
        DirectExchange(self._service, self._middleware, connection, request).begin(head, parts.body)
        return True


class DirectExchange:
    """A request and its way through the queue."""

    def __init__(
        self, service: Service, middleware: ServiceMiddleware, connection: LimitedConnection, request: DirectRequest
    ) -> None:
        self._service, self._middleware, self._request = service, middleware, request
        self._tasks: set[Any] = connection.tasks  # that the server waits for when it stops, or cancels
        self._key: str | None = None  # its name
        self._queued: QueuedRequest | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, head: KnownHead, body: bytes) -> None:
        """Queue the request, or answer why not."""
        try:
            self._submit(head, body)
        except Problem as problem:
            self._fail(problem)
        except FansError as error:
            self._fail(problem_of(error))
        except Exception as error:
            self._fail(self._unexpected(error))

    def _submit(self, head: KnownHead, body: bytes) -> None:
        service, since = self._service, time.monotonic()
        key = check_key(CONTINUE.path, METHOD, head.headers, self._middleware.keys)
        self._key = key.name if key else None
        fields: ContinueFields = service.validator.parse_inline(JOB, body)
        model = service.model_for(fields.model, fields.client)["name"]
        job = continue_job(next(service.dispatcher.ids), model, fields, since, since + head.timeout_s)
        self._queued = queued = service.dispatcher.submit(job, fields.cost)
        self._timer = service.dispatcher.loop.call_later(head.timeout_s, self._end_late)
        self._request.on_disconnect = self._leave
        self._tasks.add(queued.answer)
        queued.answer.add_done_callback(self._finish)

    def _leave(self) -> None:
        assert self._queued is not None
        self._service.dispatcher.cancel(self._queued)

    def _end_late(self) -> None:
        """End the wait at the deadline; a worker that has begun finishes the work in any case."""
        assert self._queued is not None
        if not self._queued.answer.done():
            self._service.dispatcher.queue.remove(self._queued)
            self._queued.answer.set_exception(deadline_problem())

    def _finish(self, answer: asyncio.Future[bytes]) -> None:
        """Send what became of the request."""
        self._tasks.discard(answer)
        if self._timer is not None:
            self._timer.cancel()
        if self._request.disconnected:
            self._record(self._request.scope.get(ANSWERED, CLIENT_DISCONNECTED))
        elif answer.cancelled():
            self._fail(stopping_problem())
        elif (error := answer.exception()) is not None:
            self._fail(error if isinstance(error, Problem) else self._unexpected(error))
        else:
            body = answer.result()
            self._request.send(200, [(b"content-type", JSON.encode()), (b"content-length", b"%d" % len(body))], body)
            self._record(200)

    def _fail(self, problem: Problem) -> None:
        body = problem.body(self._request.trace.request_id)
        self._request.send(problem.status, problem.raw_headers(len(body)), body)
        self._record(problem.status, problem.kind)

    def _unexpected(self, error: BaseException) -> Problem:
        """Return the problem for a fault of the service, and log it."""
        trace = self._request.trace
        fields = {"route": CONTINUE.path, "request_id": trace.request_id, "trace_id": trace.trace_id}
        log.error("a request failed", exc_info=error, extra={"fields": fields})
        return internal_problem(trace.request_id)

    def _record(self, status: int, kind: str | None = None) -> None:
        request = self._request
        seconds = time.perf_counter() - request.since
        self._middleware.record(CONTINUE.path, METHOD, status, seconds, kind, self._key, request.trace)
        request.release()
