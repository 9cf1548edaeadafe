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
from fansrec.serving.http.admission import ROUTES
from fansrec.serving.http.bodies import ClientLeft
from fansrec.serving.http.hosts import Hosts
from fansrec.serving.http.key_ring import KeyRing
from fansrec.serving.http.keys import new_key
from fansrec.serving.http.logs import setup_logs
from fansrec.serving.http.middleware import Gate
from fansrec.serving.http.problems import Problem
from fansrec.serving.http.protocol import ANSWERED

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def fine(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"fine"})


class Visit:
    """One request through a gate, and what came of it."""

    def __init__(
        self, app: Any = fine, *, path: str = "/", method: str = "GET", gate: Any = None, **headers: str
    ) -> None:
        self.sent: list[Any] = []
        self.seen: list[Any] = []
        raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        self.scope = {"type": "http", "path": path, "method": method, "headers": raw, "state": {}}
        self.gate = Gate(app, seen=lambda *what: self.seen.append(what), **(gate or {}))
        asyncio.run(self.gate(self.scope, self._receive, self._send))

    async def _receive(self) -> Any:
        raise AssertionError("nothing is read here")

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
    logs._refusals.clear()  # those of tests before
    stream = io.StringIO()
    setup_logs("json", "info", background=False, stream=stream)
    yield stream
    root.handlers, root.level = handlers, level


# Which request it is


def test_a_plain_request_id_is_kept() -> None:
    visit = Visit(x_request_id="client-7:a.b_c")
    assert visit.headers["x-request-id"] == "client-7:a.b_c" == visit.scope["state"]["request_id"]


@pytest.mark.parametrize("odd", ["", "x" * 65, "a b", "é", 'a"b', "a\nb"])
def test_an_odd_request_id_is_replaced(odd: str) -> None:
    assert re.fullmatch("[0-9a-f]{16}", Visit(x_request_id=odd).headers["x-request-id"])


def test_every_request_has_an_id_of_its_own() -> None:
    assert len({Visit().headers["x-request-id"] for _ in range(50)}) == 50


def test_a_trace_is_gone_on_with_under_a_span_of_its_own() -> None:
    visit = Visit(traceparent=PARENT, tracestate="vendor=1")
    version, trace, span, flags = visit.headers["traceparent"].split("-")
    assert (version, trace, flags) == ("00", "0af7651916cd43dd8448eb211c80319c", "01")
    assert span != "b7ad6b7169203331" and visit.headers["tracestate"] == "vendor=1"
    assert visit.scope["state"]["trace_id"] == trace and visit.scope["state"]["span_id"] == span


def test_a_later_version_of_the_standard_is_understood() -> None:
    assert "0af7651916cd43dd8448eb211c80319c" in Visit(traceparent="01" + PARENT[2:] + "-more").headers["traceparent"]


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
def test_a_trace_that_is_not_as_the_standard_has_it_is_begun_anew(odd: str) -> None:
    visit = Visit(traceparent=odd, tracestate="vendor=1")
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-00", visit.headers["traceparent"])
    assert "0af7651916cd43dd" not in visit.headers["traceparent"] and "tracestate" not in visit.headers


@given(st.dictionaries(st.sampled_from(["x_request_id", "traceparent", "tracestate", "host", "origin"]), st.text()))
def test_no_header_makes_an_answer_that_cannot_be_sent(headers: dict[str, str]) -> None:
    sent = Visit(**headers, gate={"allow_origins": ["https://a.example"]}).sent[0]["headers"]
    assert not any(re.search(rb"[\x00-\x08\x0a-\x1f\x7f]", value) for _, value in sent)


# What every answer carries


def test_answers_carry_the_security_headers() -> None:
    for visit in (Visit(), Visit(gate={"refuse": lambda scope: Problem(429, "overload", "Later.")})):
        policy = visit.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
        assert visit.headers["x-content-type-options"] == "nosniff"
        assert visit.headers["referrer-policy"] == "no-referrer"
        assert visit.headers["cross-origin-resource-policy"] == "same-origin"


# Who may come in


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.9.9.9", "[::1]:8080"])
def test_this_machine_may_be_called_by_its_own_names(host: str) -> None:
    assert Visit(host=host, gate={"hosts": Hosts()}).status == 200


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
def test_a_page_elsewhere_whose_name_points_here_is_refused(host: str) -> None:
    visit = Visit(host=host, gate={"hosts": Hosts()})
    assert visit.status == 421 and "localhost" in visit.problem["detail"]
    assert Visit(host=host).status == 200  # beyond loopback any name will do


def test_no_host_and_two_hosts_are_refused_alike() -> None:
    assert Visit(gate={"hosts": Hosts()}).status == 421
    assert Visit(host="localhost", Host="x", gate={"hosts": Hosts()}).status == 200  # names come in small letters
    visit = Visit(host="localhost", gate={"hosts": Hosts()})
    visit.scope["headers"].append((b"host", b"evil.example"))
    visit.sent.clear()
    asyncio.run(visit.gate(visit.scope, visit._receive, visit._send))
    assert visit.status == 400


@pytest.fixture
def keys(tmp_path: Path) -> tuple[KeyRing, str, str]:
    use, admin = new_key(tmp_path / "keys", "web", "use"), new_key(tmp_path / "keys", "ops", "admin")
    return KeyRing(tmp_path / "keys"), use, admin


OPEN = ["/", "/health/live", "/health/ready", "/openapi.json", "/static/page.js"]
USE = ["/v1/continue", "/v1/items", "/v1/models", "/v1", "/v1/", "/V1/items", "//v1/items", "/static", "/x"]
ADMIN = ["/v1/models/reload", "/v1/models/rollback"]
METRICS = ["/metrics"]


@pytest.mark.parametrize("path", OPEN)
def test_the_page_and_health_need_no_key(path: str, keys: Any) -> None:
    assert Visit(path=path, gate={"keys": keys[0]}).status == 200


@pytest.mark.parametrize("path", USE + ADMIN + METRICS)
def test_everything_else_needs_one(path: str, keys: Any) -> None:
    ring, use, admin = keys
    visit = Visit(path=path, gate={"keys": ring})
    assert visit.status == 401 and visit.headers["www-authenticate"] == 'Bearer realm="fansrec"'
    wrong = Visit(path=path, gate={"keys": ring}, authorization="Bearer fans_wrong")
    assert wrong.status == 401 and "invalid_token" in wrong.headers["www-authenticate"]
    assert Visit(path=path, gate={"keys": ring}, authorization=f"Bearer {admin}").status == 200
    assert Visit(path=path, gate={"keys": ring}, x_api_key=use).status == (200 if path in USE else 403)


@pytest.mark.parametrize("header", ["Basic {}", "{}", "Bearer", "Bearer {}x", "Bearer x{}", "Bearer {} {}"])
def test_a_key_said_in_another_way_opens_nothing(header: str, keys: Any) -> None:
    ring, use, _ = keys
    assert Visit(path="/metrics", gate={"keys": ring}, authorization=header.format(use, use)).status == 401


@pytest.mark.parametrize("path", ADMIN)
def test_without_keys_models_cannot_be_changed(path: str) -> None:
    visit = Visit(path=path, method="POST")
    assert visit.status == 403 and "--keys" in visit.problem["detail"]


def test_without_keys_the_rest_is_open() -> None:
    assert {Visit(path=path).status for path in OPEN + USE + METRICS} == {200}


def test_a_refusal_names_no_key(keys: Any) -> None:
    visit = Visit(path="/metrics", gate={"keys": keys[0]}, authorization="Bearer fans_wrong")
    assert "fans_wrong" not in str(visit.sent)


def test_a_path_with_a_nul_is_refused() -> None:
    assert Visit(path="/static/a\0b").status == 400


# Pages of other origins

A_PAGE = "https://a.example"


def test_other_origins_get_no_leave_by_default() -> None:
    visit = Visit(origin=A_PAGE)
    assert visit.status == 200 and not any(name.startswith("access-control") for name in visit.headers)
    preflight = Visit(method="OPTIONS", origin=A_PAGE, access_control_request_method="POST")
    assert not any(name.startswith("access-control") for name in preflight.headers)


def test_an_origin_that_was_named_may_read_and_ask(keys: Any) -> None:
    gate = {"allow_origins": [A_PAGE], "keys": keys[0]}
    visit = Visit(origin=A_PAGE, gate=gate)
    assert visit.headers["access-control-allow-origin"] == A_PAGE and visit.headers["vary"] == "Origin"
    asking = Visit(
        path="/v1/continue", method="OPTIONS", origin=A_PAGE, access_control_request_method="POST", gate=gate
    )
    assert asking.status == 204 and asking.headers["access-control-allow-origin"] == A_PAGE
    assert "authorization" in asking.headers["access-control-allow-headers"]


@pytest.mark.parametrize(
    "origin", ["https://a.example.evil.example", "http://a.example", "null", "https://A.example", ""]
)
def test_an_origin_that_is_only_like_it_may_not(origin: str) -> None:
    gate = {"allow_origins": [A_PAGE]}
    visit = Visit(origin=origin, gate=gate)
    assert visit.headers["vary"] == "Origin" and "access-control-allow-origin" not in visit.headers
    asking = Visit(method="OPTIONS", origin=origin, access_control_request_method="POST", gate=gate)
    assert asking.status == 200 and "access-control-allow-origin" not in asking.headers


# What goes wrong


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
def test_refusals_become_problems(error: Exception, status: int, lines: io.StringIO) -> None:
    visit = Visit(raising(error))
    assert visit.status == status and visit.problem["detail"] == str(error) and "Traceback" not in lines.getvalue()


def test_a_fault_is_a_500_that_shows_nothing_and_a_traceback_in_the_log(lines: io.StringIO) -> None:
    visit = Visit(raising(ValueError("inner secret")), x_request_id="r-5")
    assert visit.status == 500 and "inner secret" not in str(visit.sent) and "r-5" in visit.problem["detail"]
    told = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert "inner secret" in told[0]["exception"] and told[0]["request_id"] == "r-5" == told[1]["request_id"]
    assert visit.seen[0][2] == 500


def test_a_fault_after_a_whole_answer_is_only_logged(lines: io.StringIO) -> None:
    visit = Visit(raising(ValueError("late"), [dict(START), WHOLE]))
    assert len(visit.sent) == 2 and visit.seen[0][2] == 200 and "late" in lines.getvalue()


def test_a_fault_in_the_middle_of_an_answer_breaks_it_off(lines: io.StringIO) -> None:
    with pytest.raises(Problem):
        Visit(raising(ValueError("late"), [dict(START), PART]))


@pytest.mark.parametrize("error", [ClientLeft(), asyncio.CancelledError()])
def test_a_client_that_left_is_noted_and_not_answered(error: BaseException) -> None:
    visit = Visit(raising(error))
    assert visit.sent == [] and [one[2] for one in visit.seen] == [499]


def test_a_request_that_is_stopped_with_the_service_is_told_so() -> None:
    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(3600)

    sent: list[Any] = []
    seen: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def stop() -> None:
        scope = {"type": "http", "path": "/", "method": "GET", "headers": []}
        task = asyncio.ensure_future(Gate(endless, seen=lambda *what: seen.append(what))(scope, endless, send))  # type: ignore[arg-type]
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stop())
    assert sent[0]["status"] == 503 and len(seen) == 1


def test_overload_is_told_before_anything_else_is_done(keys: Any) -> None:
    def refuse(scope: Any) -> Problem | None:
        return Problem(429, "overload", "Later.", retry_after=1) if scope["path"] == "/v1/continue" else None

    gate = {"refuse": refuse, "keys": keys[0], "hosts": Hosts()}
    visit = Visit(raising(AssertionError("reached")), path="/v1/continue", method="POST", gate=gate)
    assert visit.status == 429 and visit.headers["retry-after"] == "1" and visit.problem["retry_after"] == 1
    assert [one[:3] for one in visit.seen] == [("/v1/continue", "POST", 429)]
    assert Visit(gate=gate, host="localhost").status == 200


# What is noted


@pytest.mark.parametrize("path", [*ROUTES, "/static/a.js"])
def test_a_known_path_is_counted_by_its_route(path: str) -> None:
    assert Visit(path=path).seen[0][0] == ("/static/*" if path.startswith("/static") else path)


@given(st.text(), st.text())
def test_whatever_is_asked_for_the_labels_stay_few(path: str, method: str) -> None:
    visit = Visit(path="/" + path, method=method)
    [(route, verb, status, seconds)] = visit.seen
    assert route in {*ROUTES, "/static/*", "other"} and seconds >= 0 and status in (200, 400)
    assert verb in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"}


def test_the_status_that_the_client_got_is_the_one_that_counts() -> None:
    async def broken_off(scope: Any, receive: Any, send: Any) -> None:
        scope[ANSWERED] = 400  # the connection has answered already
        raise ClientLeft

    assert [one[2] for one in Visit(broken_off).seen] == [400]


def test_a_log_line_names_the_key_s_holder_and_no_path(keys: Any, lines: io.StringIO) -> None:
    ring, use, _ = keys
    Visit(path="/v1/secret-name", gate={"keys": ring}, authorization=f"Bearer {use}")
    [line] = lines.getvalue().splitlines()
    assert json.loads(line)["key"] == "web" and use not in line and "secret-name" not in line


def test_overload_is_not_logged_one_by_one(lines: io.StringIO) -> None:
    gate = Gate(fine, seen=lambda *_: None, refuse=lambda scope: Problem(429, "overload", "Later."))

    async def send(message: Any) -> None: ...

    async def many() -> None:
        for _ in range(100):
            await gate({"type": "http", "path": "/", "method": "GET", "headers": []}, send, send)  # type: ignore[arg-type]
        await asyncio.sleep(1.1)

    asyncio.run(many())
    [line] = lines.getvalue().splitlines()
    assert json.loads(line)["count"] == 100


def test_what_is_not_http_goes_on_as_it_is() -> None:
    came: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        came.append(scope["type"])

    async def nothing() -> Any: ...

    async def send(message: Any) -> None: ...

    asyncio.run(Gate(app, seen=lambda *_: None)({"type": "lifespan"}, nothing, send))
    assert came == ["lifespan"]
