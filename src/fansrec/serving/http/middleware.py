"""What every request passes on its way in and out: who it is, whether it may, and what is noted of it."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fansrec.errors import FansError
from fansrec.serving.http.admission import (
    CORS_ANSWER,
    METHODS,
    OTHER,
    check_key,
    cors_headers,
    is_preflight,
    refuse_repeated,
    route_of,
)
from fansrec.serving.http.bodies import ClientLeft
from fansrec.serving.http.hosts import Hosts
from fansrec.serving.http.key_ring import KeyRing
from fansrec.serving.http.logs import access, current, refused
from fansrec.serving.http.problems import Problem, our_fault, problem_of, send_problem
from fansrec.serving.http.protocol import ANSWERED, Seen
from fansrec.serving.http.tracing import trace_of

Refuse = Callable[[Scope], Problem | None]

LEFT = 499  # noted where the client went away before the answer
READ = frozenset(
    (
        b"access-control-request-method",
        b"authorization",
        b"origin",
        b"traceparent",
        b"tracestate",
        b"x-api-key",
        b"x-request-id",
    )
)
CONTENT_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY = [
    (b"content-security-policy", CONTENT_POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-embedder-policy", b"require-corp"),
    (b"cross-origin-resource-policy", b"same-origin"),
]

log = logging.getLogger("fansrec.serving")


class Visit:
    """One request: what is known of it, and how far its answer has come."""

    __slots__ = (
        "given",
        "headers",
        "holder",
        "kind",
        "method",
        "route",
        "send_on",
        "since",
        "status",
        "trace",
        "whole",
    )

    def __init__(self, scope: Scope, send: Send, origins: frozenset[bytes]) -> None:
        self.since = time.perf_counter()
        self.route = route_of(scope["path"])
        self.method = scope["method"] if scope["method"] in METHODS else OTHER
        self.given = {name: value for name, value in scope["headers"] if name in READ}
        self.trace = trace_of(*map(self.given.get, (b"x-request-id", b"traceparent", b"tracestate")))
        self.headers = [*SECURITY, *self.trace.headers(), *cors_headers(self.given, origins)]
        self.send_on = send
        self.holder: str | None = None
        self.kind: str | None = None  # of the problem, if the answer is one
        self.status: int | None = None
        self.whole = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *self.headers]
        elif message["type"] == "http.response.body":
            self.whole = not message.get("more_body", False)
        await self.send_on(message)

    async def tell(self, problem: Problem) -> None:
        """Answer with the problem, unless another answer has begun: then the connection must break to show it."""
        if self.status is None:
            self.kind = problem.kind
            await send_problem(self.send, problem, self.trace.request_id)
        elif not self.whole:
            raise problem


class Gate:
    """Around the application. It finds `request_id`, `trace_id` and `span_id` in the scope's state."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        seen: Seen,
        refuse: Refuse = lambda scope: None,
        keys: KeyRing | None = None,
        hosts: Hosts | None = None,
        allow_origins: Iterable[str] = (),
    ) -> None:
        self.app = app
        self.seen = seen
        self.refuse = refuse
        self.keys = keys
        self.hosts = hosts
        self.origins = frozenset(origin.encode() for origin in allow_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            visit = Visit(scope, send, self.origins)
            current.set(visit.trace)
            try:
                await self._pass(scope, receive, visit)
            finally:
                self._note(visit, scope)

    async def _pass(self, scope: Scope, receive: Receive, visit: Visit) -> None:
        try:
            problem = self.refuse(scope)
            if problem is not None:
                await visit.tell(problem)
            elif is_preflight(scope["method"], visit.given) and visit.given.get(b"origin") in self.origins:
                await visit.send({"type": "http.response.start", "status": 204, "headers": CORS_ANSWER})
                await visit.send({"type": "http.response.body"})
            else:
                self._admit(scope, visit)
                await self.app(scope, receive, visit.send)
        except Problem as problem:
            await visit.tell(problem)
        except FansError as error:
            await visit.tell(problem_of(error))
        except ClientLeft:
            pass
        except asyncio.CancelledError:
            await self._cancelled(visit)
        except Exception:
            log.exception("a request failed", extra={"fields": {"route": visit.route}})
            await visit.tell(our_fault(visit.trace.request_id))

    def _admit(self, scope: Scope, visit: Visit) -> None:
        """Refuse who may not come in, and leave word for the application of who does."""
        if "\0" in scope["path"]:
            raise Problem(400, "bad-path", "No path here has a NUL in it.")
        refuse_repeated(scope["headers"])
        if self.hosts is not None:
            self.hosts.check([value for name, value in scope["headers"] if name == b"host"])
        holder = check_key(visit.route, visit.given, self.keys)
        visit.holder = holder.name if holder else None
        trace = visit.trace
        scope.setdefault("state", {}).update(
            request_id=trace.request_id, trace_id=trace.trace_id, span_id=trace.span_id
        )

    async def _cancelled(self, visit: Visit) -> None:
        """Work is cancelled when its client has left; the whole request, when the service cannot wait any longer."""
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            await visit.tell(Problem(503, "stopping", "The service is stopping; ask again.", retry_after=1))
            raise asyncio.CancelledError

    def _note(self, visit: Visit, scope: Scope) -> None:
        seconds = time.perf_counter() - visit.since
        status = scope.get(ANSWERED) or visit.status or LEFT
        self.seen(visit.route, visit.method, status, seconds)
        if status == 429:
            refused(visit.kind or "overload")
        else:
            access(visit.route, visit.method, status, seconds, visit.holder)
