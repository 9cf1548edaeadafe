"""The middleware that every request passes: ids, overload, access, headers of answers, problems, logs and metrics."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fansrec.errors import FansError
from fansrec.serving.http.access import check_key, refuse_repeated
from fansrec.serving.http.bodies import ClientDisconnected
from fansrec.serving.http.connection import ANSWERED, Observer
from fansrec.serving.http.hosts import Hosts
from fansrec.serving.http.key_ring import KeyRing
from fansrec.serving.http.logs import current_trace, log_access, log_refusal
from fansrec.serving.http.problems import Problem, internal_problem, problem_of, send_problem, stopping_problem
from fansrec.serving.http.refusal_pace import RefusalPace
from fansrec.serving.http.routes import METHODS, OTHER, WITH_IDS, route_name
from fansrec.serving.http.tracing import Trace, trace_of

Refuse = Callable[[Scope], Problem | None]
Headers = Sequence[tuple[bytes, bytes]]

CLIENT_DISCONNECTED = 499  # logged where the client left before the answer
READ_HEADERS = frozenset(
    b"access-control-request-method authorization origin traceparent tracestate x-api-key x-request-id".split()
)
CONTENT_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = [
    (b"content-security-policy", CONTENT_POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-embedder-policy", b"require-corp"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
PREFLIGHT_HEADERS = [
    (b"access-control-allow-methods", b"GET, POST"),
    (
        b"access-control-allow-headers",
        b"authorization, content-encoding, content-type, fans-timeout-ms, "
        b"traceparent, tracestate, x-api-key, x-request-id",
    ),
    (b"access-control-max-age", b"600"),
    (b"content-length", b"0"),
]
EXPOSED = (b"access-control-expose-headers", b"x-request-id, traceparent, retry-after")

log = logging.getLogger("fansrec.serving")


class Exchange:
    """One request and the state of its answer."""

    __slots__ = ("_send", "complete", "headers", "key", "kind", "method", "own", "route", "since", "status", "trace")

    def __init__(self, scope: Scope, send: Send, origins: frozenset[bytes]) -> None:
        self.since = time.perf_counter()
        self.route = route_name(scope["path"])
        self.method = scope["method"] if scope["method"] in METHODS else OTHER
        self.headers = read_headers(scope["headers"])
        self.trace = trace_of(*map(self.headers.get, (b"x-request-id", b"traceparent", b"tracestate")))
        self.own = [*SECURITY_HEADERS, *_cors_headers(self.headers, origins), *self.trace.headers()]
        self._send = send
        self.key: str | None = None  # its name
        self.kind: str | None = None  # of the problem, if the answer is one
        self.status: int | None = None
        self.complete = False

    async def send(self, message: Message) -> None:
        """Send a part of the answer, with the headers that every answer has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *self.own]
        elif message["type"] == "http.response.body":
            self.complete = not message.get("more_body", False)
        await self._send(message)

    async def fail(self, problem: Problem) -> None:
        """Answer with the problem; if another answer has begun, raise it, so that the connection breaks."""
        if self.status is None:
            self.kind = problem.kind
            await send_problem(self.send, problem, self.trace.request_id)
        elif not self.complete:
            raise problem


@dataclass
class ServiceMiddleware:
    """Wraps the application, which finds `request_id`, `trace_id` and `span_id` in the scope's state."""

    app: ASGIApp
    observe: Observer
    refuse: Refuse = lambda scope: None
    keys: KeyRing | None = None
    hosts: Hosts | None = None
    allow_origins: Iterable[str] = ()
    draining: Callable[[], bool] = lambda: False  # whether every answer closes its connection
    pace: RefusalPace = field(default_factory=RefusalPace)

    def __post_init__(self) -> None:
        self.origins = frozenset(origin.encode() for origin in self.allow_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            exchange = Exchange(scope, send, self.origins)
            current_trace.set(exchange.trace)
            if self.draining():
                exchange.own.append((b"connection", b"close"))
            try:
                await self._handle(scope, receive, exchange)
            finally:
                self._record(exchange, scope)

    async def _handle(self, scope: Scope, receive: Receive, exchange: Exchange) -> None:
        try:
            problem = self.refuse(scope)
            if problem is not None:
                await asyncio.sleep(self.pace.delay())  # 0, unless there are many
                await exchange.fail(problem)
            elif self._is_preflight(exchange):
                await exchange.send({"type": "http.response.start", "status": 204, "headers": PREFLIGHT_HEADERS})
                await exchange.send({"type": "http.response.body"})
            else:
                self._admit(scope, exchange)
                await self.app(scope, receive, exchange.send)
        except Problem as problem:
            await exchange.fail(problem)
        except FansError as error:
            await exchange.fail(problem_of(error))
        except ClientDisconnected:
            pass
        except asyncio.CancelledError:
            await self._cancelled(exchange)
        except Exception:
            log.exception("a request failed", extra={"fields": {"route": exchange.route}})
            await exchange.fail(internal_problem(exchange.trace.request_id))

    def _is_preflight(self, exchange: Exchange) -> bool:
        """Return whether a browser asks if a page of one of our `allow_origins` may call the service."""
        asks = exchange.method == "OPTIONS" and b"access-control-request-method" in exchange.headers
        return asks and exchange.headers.get(b"origin") in self.origins

    def _admit(self, scope: Scope, exchange: Exchange) -> None:
        """Raise a Problem for a request that is not allowed; add the ids of the others to their scope."""
        if "\0" in scope["path"] and exchange.route not in WITH_IDS:
            raise Problem(400, "bad-path", "The path contains a NUL character; remove it.")
        self.check_head(scope["headers"])
        key = check_key(exchange.route, exchange.method, exchange.headers, self.keys)
        exchange.key = key.name if key else None
        trace = exchange.trace
        scope.setdefault("state", {}).update(
            request_id=trace.request_id, trace_id=trace.trace_id, span_id=trace.span_id
        )

    def check_head(self, headers: Headers) -> None:
        """Raise a Problem for headers that are refused whatever the request is."""
        refuse_repeated(headers)
        if self.hosts is not None:
            self.hosts.check([value for name, value in headers if name == b"host"])

    def cors_headers(self, headers: Mapping[bytes, bytes]) -> Headers:
        return _cors_headers(headers, self.origins)

    async def _cancelled(self, exchange: Exchange) -> None:
        """Only the work is cancelled when its client has left; the whole task is, when the service must stop."""
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            await exchange.fail(stopping_problem())
            raise asyncio.CancelledError

    def _record(self, exchange: Exchange, scope: Scope) -> None:
        seconds = time.perf_counter() - exchange.since
        status = scope.get(ANSWERED) or exchange.status or CLIENT_DISCONNECTED
        self.record(exchange.route, exchange.method, status, seconds, exchange.kind, exchange.key, exchange.trace)

    def record(
        self, route: str, method: str, status: int, seconds: float, kind: str | None, key: str | None, trace: Trace
    ) -> None:
        """Count and log a request that has ended; `kind` is that of its problem, `key` the name of its key."""
        self.observe(route, method, status, seconds)
        if status == 429:
            log_refusal(kind or "overload")
        else:
            log_access(route, method, status, seconds, key, trace)


def read_headers(headers: Headers) -> dict[bytes, bytes]:
    """Return the headers that the middleware reads."""
    return {name: value for name, value in headers if name in READ_HEADERS}


def _cors_headers(headers: Mapping[bytes, bytes], origins: frozenset[bytes]) -> Headers:
    """Return the headers that let a page of one of `origins` read the answer; a page of another origin gets none."""
    if not origins:
        return []
    origin = headers.get(b"origin")
    if origin not in origins:
        return [(b"vary", b"Origin")]
    return [(b"access-control-allow-origin", origin), EXPOSED, (b"vary", b"Origin")]
