"""FastAPI behind the middleware: every refusal is a problem."""

import asyncio
import json
from typing import Annotated, Any

import pytest
from fastapi import FastAPI, Query

from fansrec.errors import UnknownItems
from fansrec.serving.http.bodies import ClientDisconnected
from fansrec.serving.http.error_handlers import ERROR_HANDLERS
from fansrec.serving.http.middleware import ServiceMiddleware
from fansrec.serving.http.problems import Problem


def application() -> FastAPI:
    app = FastAPI(exception_handlers=ERROR_HANDLERS)
    errors = [
        Problem(409, "busy", "Wait."),
        UnknownItems("none is known"),
        ValueError("inner secret"),
        ClientDisconnected(),
    ]

    @app.get("/{number}")
    async def fail(number: int, limit: Annotated[int, Query(le=9)] = 1) -> None:
        raise errors[number]

    return app


def send_to(path: str, method: str = "GET", query: str = "") -> tuple[list[Any], list[Any]]:
    """Return the messages that were sent as an answer, and what was observed of the request."""
    sent: list[Any] = []
    observed: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    scope = {"type": "http", "path": path, "method": method, "headers": [(b"x-request-id", b"r1")]}
    scope |= {"query_string": query.encode(), "root_path": "", "http_version": "1.1", "state": {}}
    middleware = ServiceMiddleware(application(), observe=lambda *values: observed.append(values))
    asyncio.run(middleware(scope, receive, send))
    return sent, observed


def get(path: str, method: str = "GET", query: str = "") -> tuple[int, dict[bytes, bytes], dict[str, Any], list[Any]]:
    (start, body), observed = send_to(path, method, query)
    return start["status"], dict(start["headers"]), json.loads(body["body"]), observed


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("/0", 409, "busy"),
        ("/1", 422, "unknown-items"),
        ("/2", 500, "internal"),
        ("/x", 422, "invalid-request"),
        ("/no/where", 404, "not-found"),
    ],
)
def test_every_error_is_a_problem(path: str, status: int, kind: str) -> None:
    answered, headers, body, observed = get(path)
    assert answered == status == body["status"] and body["type"] == f"urn:fansrec:{kind}" and body["request_id"] == "r1"
    assert headers[b"content-type"] == b"application/problem+json" and headers[b"x-request-id"] == b"r1"
    assert [one[2] for one in observed] == [status] and "inner secret" not in str(body)


def test_wrong_method_is_refused_with_the_allowed_methods() -> None:
    status, headers, body, _ = get("/0", method="DELETE")
    assert status == 405 and headers[b"allow"] == b"GET" and body["type"].endswith("wrong-method")


def test_invalid_query_lists_the_invalid_fields() -> None:
    _, _, body, _ = get("/0", query="limit=10")
    assert body["errors"] == [{"where": "query.limit", "what": "must be at most 9"}]


def test_disconnected_client_is_not_an_error() -> None:
    sent, observed = send_to("/3")
    assert sent == [] and [one[2] for one in observed] == [499]
