import asyncio
import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fansrec.errors import BadSetting, UnknownItems
from fansrec.serving.http import logs
from fansrec.serving.http.bodies import ClientDisconnected
from fansrec.serving.http.connection import ANSWERED
from fansrec.serving.http.hosts import Hosts
from fansrec.serving.http.key_ring import KeyRing
from fansrec.serving.http.keys import new_key
from fansrec.serving.http.logs import setup_logs
from fansrec.serving.http.middleware import ServiceMiddleware
from fansrec.serving.http.problems import Problem
from fansrec.serving.http.routes import ROUTES

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def fine(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"fine"})


class Exchange:
    """One request through the middleware, and its answer."""

    def __init__(
        self, app: Any = fine, *, path: str = "/", method: str = "GET", options: Any = None, **headers: str
    ) -> None:
        self.sent: list[Any] = []
        self.observed: list[Any] = []
        raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        self.scope = {"type": "http", "path": path, "method": method, "headers": raw, "state": {}}
        self.middleware = ServiceMiddleware(
            app, observe=lambda *values: self.observed.append(values), **(options or {})
        )
        asyncio.run(self.middleware(self.scope, self._receive, self._send))

    async def _receive(self) -> Any:
        raise AssertionError("no body is read here")

    async def _send(self, message: Any) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def problem(self) -> dict[str, Any]:
        assert self.headers["content-type"] == "application/problem+json"
        body = json.loads(self.sent[1]["body"])
        assert body["status"] == self.status and body["request_id"] == self.headers["x-request-id"]
        return body


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    logs._refusals.clear()  # of earlier tests
    stream = io.StringIO()
    setup_logs("json", "info", background=False, stream=stream)
    yield stream
    root.handlers, root.level = handlers, level


# Request ids and traces


def test_plain_request_id_is_kept() -> None:
    exchange = Exchange(x_request_id="client-7:a.b_c")
    assert exchange.headers["x-request-id"] == "client-7:a.b_c" == exchange.scope["state"]["request_id"]


@pytest.mark.parametrize("odd", ["", "x" * 65, "a b", "é", 'a"b', "a\nb"])
def test_invalid_request_id_is_replaced(odd: str) -> None:
    assert re.fullmatch("[0-9a-f]{16}", Exchange(x_request_id=odd).headers["x-request-id"])


def test_every_request_has_its_own_id() -> None:
    assert len({Exchange().headers["x-request-id"] for _ in range(50)}) == 50


def test_trace_is_continued_with_a_new_span() -> None:
    exchange = Exchange(traceparent=PARENT, tracestate="vendor=1")
    version, trace, span, flags = exchange.headers["traceparent"].split("-")
    assert (version, trace, flags) == ("00", "0af7651916cd43dd8448eb211c80319c", "01")
    assert span != "b7ad6b7169203331" and exchange.headers["tracestate"] == "vendor=1"
    assert exchange.scope["state"]["trace_id"] == trace and exchange.scope["state"]["span_id"] == span


def test_later_version_of_traceparent_is_accepted() -> None:
    assert (
        "0af7651916cd43dd8448eb211c80319c" in Exchange(traceparent="01" + PARENT[2:] + "-more").headers["traceparent"]
    )


@pytest.mark.parametrize(
    "odd",
    [
        "",
        "nonsense",
        PARENT.upper(),
        PARENT + "-more",
        "ff" + PARENT[2:],
        PARENT.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32),
        PARENT.replace("b7ad6b7169203331", "0" * 16),
        PARENT + "\r\nSet-Cookie: a",
    ],
)
def test_invalid_traceparent_begins_a_new_trace(odd: str) -> None:
    exchange = Exchange(traceparent=odd, tracestate="vendor=1")
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-00", exchange.headers["traceparent"])
    assert "0af7651916cd43dd" not in exchange.headers["traceparent"] and "tracestate" not in exchange.headers


@given(st.dictionaries(st.sampled_from(["x_request_id", "traceparent", "tracestate", "host", "origin"]), st.text()))
def test_request_headers_cannot_break_the_answer(headers: dict[str, str]) -> None:
    sent = Exchange(**headers, options={"allow_origins": ["https://a.example"]}).sent[0]["headers"]
    assert not any(re.search(rb"[\x00-\x08\x0a-\x1f\x7f]", value) for _, value in sent)


# Headers of every answer


def test_answers_have_the_security_headers() -> None:
    for exchange in (Exchange(), Exchange(options={"refuse": lambda scope: Problem(429, "overload", "Later.")})):
        policy = exchange.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
        assert exchange.headers["x-content-type-options"] == "nosniff"
        assert exchange.headers["referrer-policy"] == "no-referrer"
        assert exchange.headers["cross-origin-resource-policy"] == "same-origin"


# Access


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.9.9.9", "[::1]:8080"])
def test_loopback_names_are_accepted(host: str) -> None:
    assert Exchange(host=host, options={"hosts": Hosts()}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "",
        "evil:127.0.0.1",
    ],
)
def test_foreign_host_names_are_refused(host: str) -> None:
    exchange = Exchange(host=host, options={"hosts": Hosts()})
    assert exchange.status == 421 and "localhost" in exchange.problem["detail"]
    assert Exchange(host=host).status == 200  # without `hosts` any name is accepted


def test_missing_and_repeated_host_are_refused() -> None:
    assert Exchange(options={"hosts": Hosts()}).status == 421
    assert Exchange(host="localhost", Host="x", options={"hosts": Hosts()}).status == 200  # names are in lower case
    exchange = Exchange(host="localhost", options={"hosts": Hosts()})
    exchange.scope["headers"].append((b"host", b"evil.example"))
    exchange.sent.clear()
    asyncio.run(exchange.middleware(exchange.scope, exchange._receive, exchange._send))
    assert exchange.status == 400


@pytest.fixture
def keys(tmp_path: Path) -> tuple[KeyRing, str, str]:
    use, admin = new_key(tmp_path / "keys", "web", "use"), new_key(tmp_path / "keys", "ops", "admin")
    return KeyRing(tmp_path / "keys"), use, admin


OPEN = ["/", "/health/live", "/health/ready", "/openapi.json", "/static/page.js"]
USE = ["/v1/continue", "/v1/items", "/v1/models", "/v1", "/v1/", "/V1/items", "//v1/items", "/static", "/x"]
ADMIN = ["/v1/models/reload", "/v1/models/rollback"]
METRICS = ["/metrics"]


@pytest.mark.parametrize("path", OPEN)
def test_page_and_health_need_no_key(path: str, keys: Any) -> None:
    assert Exchange(path=path, options={"keys": keys[0]}).status == 200


@pytest.mark.parametrize("path", USE + ADMIN + METRICS)
def test_other_paths_need_a_key_of_the_right_role(path: str, keys: Any) -> None:
    ring, use, admin = keys
    exchange = Exchange(path=path, options={"keys": ring})
    assert exchange.status == 401 and exchange.headers["www-authenticate"] == 'Bearer realm="fansrec"'
    wrong = Exchange(path=path, options={"keys": ring}, authorization="Bearer fans_wrong")
    assert wrong.status == 401 and "invalid_token" in wrong.headers["www-authenticate"]
    assert Exchange(path=path, options={"keys": ring}, authorization=f"Bearer {admin}").status == 200
    assert Exchange(path=path, options={"keys": ring}, x_api_key=use).status == (200 if path in USE else 403)


@pytest.mark.parametrize("header", ["Basic {}", "{}", "Bearer", "Bearer {}x", "Bearer x{}", "Bearer {} {}"])
def test_key_in_another_form_is_refused(header: str, keys: Any) -> None:
    ring, use, _ = keys
    assert Exchange(path="/metrics", options={"keys": ring}, authorization=header.format(use, use)).status == 401


@pytest.mark.parametrize("path", ADMIN)
def test_models_cannot_be_changed_without_keys(path: str) -> None:
    exchange = Exchange(path=path, method="POST")
    assert exchange.status == 403 and "--keys" in exchange.problem["detail"]


def test_other_paths_are_open_without_keys() -> None:
    assert {Exchange(path=path).status for path in OPEN + USE + METRICS} == {200}


def test_refusal_does_not_contain_the_key(keys: Any) -> None:
    exchange = Exchange(path="/metrics", options={"keys": keys[0]}, authorization="Bearer fans_wrong")
    assert "fans_wrong" not in str(exchange.sent)


def test_path_with_nul_is_refused_unless_it_is_in_an_id() -> None:
    refused = ("/static/a\0b", "/v1/models\0", "/v1/items\0")
    assert [Exchange(path=path).status for path in refused] == [400] * 3
    assert Exchange(path="/v1/items/a\0b/similar").status == 200
    assert Exchange(path="/v1/lists/a\0b", method="DELETE").status in (200, 403)


# Cross-origin requests

A_PAGE = "https://a.example"


def test_other_origins_are_not_allowed_by_default() -> None:
    exchange = Exchange(origin=A_PAGE)
    assert exchange.status == 200 and not any(name.startswith("access-control") for name in exchange.headers)
    preflight = Exchange(method="OPTIONS", origin=A_PAGE, access_control_request_method="POST")
    assert not any(name.startswith("access-control") for name in preflight.headers)


def test_configured_origin_is_allowed(keys: Any) -> None:
    options = {"allow_origins": [A_PAGE], "keys": keys[0]}
    exchange = Exchange(origin=A_PAGE, options=options)
    assert exchange.headers["access-control-allow-origin"] == A_PAGE and exchange.headers["vary"] == "Origin"
    preflight = Exchange(
        path="/v1/continue", method="OPTIONS", origin=A_PAGE, access_control_request_method="POST", options=options
    )
    assert preflight.status == 204 and preflight.headers["access-control-allow-origin"] == A_PAGE
    assert "authorization" in preflight.headers["access-control-allow-headers"]


@pytest.mark.parametrize(
    "origin", ["https://a.example.evil.example", "http://a.example", "null", "https://A.example", ""]
)
def test_similar_origin_is_not_allowed(origin: str) -> None:
    options = {"allow_origins": [A_PAGE]}
    exchange = Exchange(origin=origin, options=options)
    assert exchange.headers["vary"] == "Origin" and "access-control-allow-origin" not in exchange.headers
    preflight = Exchange(method="OPTIONS", origin=origin, access_control_request_method="POST", options=options)
    assert preflight.status == 200 and "access-control-allow-origin" not in preflight.headers


# Errors


def raising(error: BaseException, after: list[Any] | None = None) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        for message in after or []:
            await send(message)
        raise error

    return app


START = {"type": "http.response.start", "status": 200, "headers": []}
WHOLE = {"type": "http.response.body", "body": b"whole"}
PART = {"type": "http.response.body", "body": b"part", "more_body": True}


@pytest.mark.parametrize(
    ("error", "status"),
    [(Problem(418, "teapot", "Tea."), 418), (UnknownItems("none is known"), 422), (BadSetting("no"), 422)],
)
def test_errors_become_problems(error: Exception, status: int, lines: io.StringIO) -> None:
    exchange = Exchange(raising(error))
    assert (
        exchange.status == status and exchange.problem["detail"] == str(error) and "Traceback" not in lines.getvalue()
    )


def test_exception_is_a_500_without_details_and_a_traceback_in_the_log(lines: io.StringIO) -> None:
    exchange = Exchange(raising(ValueError("inner secret")), x_request_id="r-5")
    assert exchange.status == 500 and "inner secret" not in str(exchange.sent) and "r-5" in exchange.problem["detail"]
    first, second = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert "inner secret" in first["exception"] and first["request_id"] == "r-5" == second["request_id"]
    assert exchange.observed[0][2] == 500


def test_exception_after_a_complete_answer_is_only_logged(lines: io.StringIO) -> None:
    exchange = Exchange(raising(ValueError("late"), [dict(START), WHOLE]))
    assert len(exchange.sent) == 2 and exchange.observed[0][2] == 200 and "late" in lines.getvalue()


def test_exception_during_an_answer_breaks_the_connection(lines: io.StringIO) -> None:
    with pytest.raises(Problem):
        Exchange(raising(ValueError("late"), [dict(START), PART]))


@pytest.mark.parametrize("error", [ClientDisconnected(), asyncio.CancelledError()])
def test_disconnected_client_is_counted_and_not_answered(error: BaseException) -> None:
    exchange = Exchange(raising(error))
    assert exchange.sent == [] and [one[2] for one in exchange.observed] == [499]


def test_request_cancelled_by_the_stop_of_the_service_gets_503() -> None:
    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(3600)

    sent: list[Any] = []
    observed: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def stop() -> None:
        scope = {"type": "http", "path": "/", "method": "GET", "headers": []}
        middleware = ServiceMiddleware(endless, observe=lambda *values: observed.append(values))
        task = asyncio.ensure_future(middleware(scope, endless, send))  # type: ignore[arg-type]
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stop())
    assert sent[0]["status"] == 503 and len(observed) == 1


def test_overload_is_checked_first(keys: Any) -> None:
    def refuse(scope: Any) -> Problem | None:
        return Problem(429, "overload", "Later.", retry_after=1) if scope["path"] == "/v1/continue" else None

    options = {"refuse": refuse, "keys": keys[0], "hosts": Hosts()}
    exchange = Exchange(raising(AssertionError("reached")), path="/v1/continue", method="POST", options=options)
    assert exchange.status == 429 and exchange.headers["retry-after"] == "1" and exchange.problem["retry_after"] == 1
    assert [one[:3] for one in exchange.observed] == [("/v1/continue", "POST", 429)]
    assert Exchange(options=options, host="localhost").status == 200


# Logs and metrics


@pytest.mark.parametrize("path", [*ROUTES, "/static/a.js"])
def test_known_path_is_counted_by_its_route(path: str) -> None:
    assert Exchange(path=path).observed[0][0] == ("/static/*" if path.startswith("/static") else path)


@given(st.text(), st.text())
def test_any_path_and_method_use_a_fixed_set_of_labels(path: str, method: str) -> None:
    exchange = Exchange(path="/" + path, method=method)
    [(route, verb, status, seconds)] = exchange.observed
    assert route in {*ROUTES, "/static/*", "other"} and seconds >= 0 and status in (200, 400)
    assert verb in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"}


def test_status_sent_by_the_connection_is_counted() -> None:
    async def broken_off(scope: Any, receive: Any, send: Any) -> None:
        scope[ANSWERED] = 400  # the connection has answered already
        raise ClientDisconnected

    assert [one[2] for one in Exchange(broken_off).observed] == [400]


def test_log_line_contains_the_name_of_the_key_and_no_path(keys: Any, lines: io.StringIO) -> None:
    ring, use, _ = keys
    Exchange(path="/v1/secret-name", options={"keys": ring}, authorization=f"Bearer {use}")
    [line] = lines.getvalue().splitlines()
    assert json.loads(line)["key"] == "web" and use not in line and "secret-name" not in line


def test_overload_is_logged_as_a_count(lines: io.StringIO) -> None:
    middleware = ServiceMiddleware(
        fine, observe=lambda *_: None, refuse=lambda scope: Problem(429, "overload", "Later.")
    )

    async def send(message: Any) -> None: ...

    async def many() -> None:
        for _ in range(100):
            await middleware({"type": "http", "path": "/", "method": "GET", "headers": []}, send, send)  # type: ignore[arg-type]
        await asyncio.sleep(1.1)

    asyncio.run(many())
    [line] = lines.getvalue().splitlines()
    assert json.loads(line)["count"] == 100


def test_lifespan_messages_are_passed_on() -> None:
    came: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        came.append(scope["type"])

    async def nothing() -> Any: ...

    async def send(message: Any) -> None: ...

    asyncio.run(ServiceMiddleware(app, observe=lambda *_: None)({"type": "lifespan"}, nothing, send))
    assert came == ["lifespan"]
