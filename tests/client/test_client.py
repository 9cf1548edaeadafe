"""The client against fake services: its requests, its retries, and how it reads responses."""

import asyncio
import gzip
import inspect
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any, ClassVar

import httpx2
import numpy as np
import pytest

from fansrec.api.answers import Answer, Explanation, Position, Reason
from fansrec.client import AsyncClient, Client, NotAllowed, Unavailable
from fansrec.client.requests import MIN_COMPRESSED, FoundItem
from fansrec.errors import BadArtifact, BadInput, BadSetting, FansError, UnknownItems
from serving.service import DEADLINE_S

URL = "http://service.test"
FOUND = {"item": "s2", "name": "Two", "group": "artist", "category": "c1"}
ANSWERED = {
    "model": {"name": "fans", "hash": "ab12"},
    "milliseconds": 1.5,
    "answers": [{"positions": [FOUND | {"score": 0.5}], "unknown": ["x"], "reason": "only 1 of 10"}],
}
Handler = Callable[[httpx2.Request], httpx2.Response]


class Time:
    """A clock that moves only when `sleep` is called."""

    def __init__(self) -> None:
        self.now, self.pauses = 100.0, list[float]()

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)


class Service:
    """Answers with these responses in turn, then always with the last one; keeps the requests."""

    def __init__(self, *responses: httpx2.Response | Exception) -> None:
        self.responses, self.requests = list(responses), list[httpx2.Request]()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        response = self.responses[min(len(self.requests), len(self.responses)) - 1]
        if isinstance(response, Exception):
            raise response
        return httpx2.Response(response.status_code, headers=response.headers, content=response.content)


class Blocking:
    """The async client with the methods of the sync one, so that one test covers both."""

    def __init__(self, client: AsyncClient) -> None:
        self.client = client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *args, **options: asyncio.run(getattr(self.client, name)(*args, **options))


@pytest.fixture(params=["sync", "async"])
def client_of(request: pytest.FixtureRequest) -> Callable[..., Any]:
    def make(service: Handler, at: Time | None = None, **options: Any) -> Any:
        at = at or Time()
        options = {"transport": httpx2.MockTransport(service), "clock": lambda: at.now, "random": Random(1)} | options
        if request.param == "sync":
            return Client(URL, sleep=at.sleep, **options)
        return Blocking(AsyncClient(URL, sleep=at.sleep_async, **options))

    return make


def ok(value: Any = ANSWERED) -> httpx2.Response:
    return httpx2.Response(200, json=value)


def problem(status: int, kind: str = "about", headers: dict[str, str] | None = None, **members: Any) -> httpx2.Response:
    value = {"type": f"urn:fansrec:{kind}", "title": "No", "status": status, "detail": "do this", "request_id": "r1"}
    return httpx2.Response(status, json=value | members, headers=headers)


def test_request_is_sent_and_its_answer_parsed(client_of: Callable[..., Any]) -> None:
    service = Service(ok())
    answers = client_of(service, key="secret").continue_lists([["s1", 7]], k=3, max_per_group=2)
    assert answers == [Answer([Position("s2", "Two", "c1", 0.5, "artist")], ["x"], "only 1 of 10")]
    assert (answers.model, answers.hash, answers.milliseconds) == ("fans", "ab12", 1.5)
    assert answers[0].items == ["s2"]
    (request,) = service.requests
    assert json.loads(request.content) == {"lists": [["s1", 7]], "k": 3, "max_per_group": 2}
    assert (request.method, request.url.path) == ("POST", "/v1/continue")
    assert request.headers["content-type"] == "application/json"
    assert request.headers["authorization"] == "Bearer secret"
    assert request.headers["fans-timeout-ms"] == "10000"


def test_rules_are_sent_and_unknown_rules_refused(client_of: Callable[..., Any]) -> None:
    service = Service(ok())
    client = client_of(service)
    rules = {"model": "ease", "allow": ("a", np.int64(4)), "categories": [], "keep_seen": True}
    client.continue_lists([iter(["s1"])], exclude={"b"}, **rules)
    sent = json.loads(service.requests[0].content)
    assert sent == {"lists": [["s1"]], "k": 10, "exclude": ["b"]} | rules | {"allow": ["a", 4]}
    with pytest.raises(BadSetting, match="no rule 'excluded'"):
        client.continue_lists([["s1"]], excluded=["b"])


@pytest.mark.parametrize(
    ("lists", "rules", "message"),
    [
        (["s1"], {}, "'s1' is a string"),
        ([["s1"]], {"exclude": "s2"}, "'s2' is a string"),
        ([[object()]], {}, "is not an item"),
        ([["\ud800"]], {}, "JSON"),
        ([["s1"]], {"min_score": float("nan")}, "JSON"),
    ],
)
def test_invalid_request_is_refused_before_sending(lists: Any, rules: Any, message: str) -> None:
    service = Service(ok())
    with Client(URL, transport=httpx2.MockTransport(service)) as client, pytest.raises(FansError, match=message):
        client.continue_lists(lists, **rules)
    assert not service.requests


def test_large_request_is_compressed() -> None:
    service = Service(ok())
    lists = [["a song with a long name"] * (MIN_COMPRESSED // 30)]
    with Client(URL, transport=httpx2.MockTransport(service)) as client:
        client.continue_lists(lists)
        client.continue_lists(lists * 2)
    small, large = service.requests
    assert "content-encoding" not in small.headers
    assert large.headers["content-encoding"] == "gzip"
    assert len(large.content) < MIN_COMPRESSED / 10
    assert json.loads(gzip.decompress(large.content))["lists"] == lists * 2


def test_fallback_of_an_answer_is_read(client_of: Callable[..., Any]) -> None:
    given = ANSWERED | {"answers": [ANSWERED["answers"][0] | {"fallback": "popular"}]}  # type: ignore[index]
    service = Service(ok(given))
    (answer,) = client_of(service).continue_lists([["x"]], fallback="popular")
    assert answer.fallback == "popular" and json.loads(service.requests[0].content)["fallback"] == "popular"


def test_explanations_of_an_answer_are_read(client_of: Callable[..., Any]) -> None:
    because = [{"item": "s1", "name": None, "weight": 1.0}]
    fields = {"parts": {"memory": 1.0}, "because": because, "lists": [], "of a later version": 1}
    position = ANSWERED["answers"][0]["positions"][0] | {"explanation": fields}  # type: ignore[index]
    given = ANSWERED | {"answers": [ANSWERED["answers"][0] | {"positions": [position]}]}  # type: ignore[index]
    service = Service(ok(given))
    (answer,) = client_of(service).continue_lists([["s1"]], explain=True)
    assert answer.positions[0].explanation == Explanation({"memory": 1.0}, [Reason("s1", None, 1.0)], [])
    assert json.loads(service.requests[0].content)["explain"] is True


def test_events_are_sent_again_with_the_same_key(client_of: Callable[..., Any]) -> None:
    service = Service(problem(503), httpx2.ReadError("lost"), ok({"stored": 2}), problem(507, "not-stored"))
    shown = {"type": "shown", "model": "a", "count": np.int64(5), "time": datetime(2026, 1, 2, tzinfo=UTC)}
    client = client_of(service)
    assert client.send_events(iter([shown, {"type": "played"}])) == 2
    (first, *others), path = [json.loads(request.content) for request in service.requests], "/v1/events"
    assert others == [first] * 2 and {request.url.path for request in service.requests} == {path}
    assert first["events"] == [shown | {"count": 5, "time": "2026-01-02T00:00:00+00:00"}, {"type": "played"}]
    with pytest.raises(Unavailable, match="do this"):
        client.send_events([shown])
    assert len(json.loads(service.requests[-1].content)["batch"]) == len(first["batch"]) == 32
    assert json.loads(service.requests[-1].content)["batch"] != first["batch"]
    with pytest.raises(Unavailable):
        client.send_events([shown], batch="mine")
    assert json.loads(service.requests[-1].content)["batch"] == "mine"


def test_lists_and_items_are_written_and_sent_again_after_a_lost_answer(client_of: Callable[..., Any]) -> None:
    service = Service(httpx2.ReadError("lost"), ok({"seq": 7}), ok({"seq": 8}), ok({"seq": 9}), problem(507))
    client = client_of(service)
    assert client.add_lists(iter([{"id": "p1", "items": np.array([3, 4]), "title": "é"}])) == 7
    assert client.add_items([{"id": np.int64(3), "name": "Three"}]) == 8
    assert client.remove_list("a/..") == 9
    sent = [(request.method, request.url.raw_path.decode()) for request in service.requests]
    assert sent == [("POST", "/v1/lists")] * 2 + [("POST", "/v1/items"), ("DELETE", "/v1/lists/a%2F%2E%2E")]
    bodies = [json.loads(request.content) for request in service.requests[1:3]]
    assert bodies == [
        {"lists": [{"id": "p1", "items": [3, 4], "title": "é"}]},
        {"items": [{"id": 3, "name": "Three"}]},
    ]
    with pytest.raises(Unavailable, match="do this"):
        client.add_lists([{"id": "p2", "items": ["a"]}])


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.add_lists({"id": "p1", "items": ["a"]}),
        lambda client: client.add_lists([["a", "b"]]),
        lambda client: client.add_lists([{"id": "p1", "items": "a"}]),
        lambda client: client.add_items([{"name": "no id"}]),
        lambda client: client.remove_list(""),
    ],
)
def test_writes_of_another_form_are_refused_before_they_are_sent(
    client_of: Callable[..., Any], call: Callable[[Any], Any]
) -> None:
    service = Service()
    with pytest.raises(BadSetting):
        call(client_of(service))
    assert not service.requests


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ("s1", "/v1/items/s1/similar"),
        (np.int64(7), "/v1/items/7/similar"),
        ("a/b?c#d", "/v1/items/a%2Fb%3Fc%23d/similar"),
        ("..", "/v1/items/%2E%2E/similar"),
        ("é 100%", "/v1/items/%C3%A9%20100%25/similar"),
    ],
)
def test_similar_items_are_requested_and_parsed(client_of: Callable[..., Any], item: object, path: str) -> None:
    similar = {"model": ANSWERED["model"], "item": FOUND, "items": [FOUND | {"score": 0.5}], "reason": "only 1 of 3"}
    service = Service(ok(similar))
    found = client_of(service).similar_items([item], k=3, model="best")
    assert found == [Answer([Position("s2", "Two", "c1", 0.5, "artist")], [], "only 1 of 3")]
    (request,) = service.requests
    assert request.url.raw_path.decode() == f"{path}?k=3&model=best"


def test_unknown_item_is_refused_alone_and_reported_beside_others(client_of: Callable[..., Any]) -> None:
    unknown = problem(404, "unknown-items")
    with pytest.raises(UnknownItems, match="do this"):
        client_of(Service(unknown)).similar_items(["x"])
    found = client_of(Service(unknown, ok({"items": [], "reason": "none"}))).similar_items(["x", "s1"])
    assert found == [Answer([], ["x"], "do this (request r1)"), Answer([], [], "none")]
    with pytest.raises(BadSetting, match="'x' is a string"):
        client_of(Service(unknown)).similar_items("x")


def test_search_and_list_of_models(client_of: Callable[..., Any]) -> None:
    service = Service(ok({"model": {}, "items": [FOUND]}), ok({"default": "fans", "models": []}))
    client = client_of(service)
    assert client.search("zwei & drei", limit=3, model="ease") == [FoundItem("s2", "Two", "artist", "c1")]
    assert client.models() == {"default": "fans", "models": []}
    assert dict(service.requests[0].url.params) == {"search": "zwei & drei", "limit": "3", "model": "ease"}


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (422, "unknown-items", UnknownItems),
        (422, "invalid", BadSetting),
        (404, "unknown-model", BadSetting),
        (409, "busy", BadSetting),
        (413, "too-large", BadInput),
        (422, "bad-artifact", BadArtifact),
        (401, "no-key", NotAllowed),
        (403, "no-admin", NotAllowed),
        (500, "fault", Unavailable),
    ],
)
def test_refusal_raises_its_error_and_is_not_retried(
    client_of: Callable[..., Any], status: int, kind: str, error: type[FansError]
) -> None:
    service = Service(problem(status, kind))
    with pytest.raises(error, match=r"^do this \(request r1\)$") as raised:
        client_of(service).continue_lists([["s1"]])
    assert type(raised.value) is error
    assert len(service.requests) == 1


def test_error_message_lists_the_invalid_fields(client_of: Callable[..., Any]) -> None:
    service = Service(problem(422, "invalid-request", errors=[{"where": "k", "what": "too much"}]))
    with pytest.raises(BadSetting, match=r"^do this \(k: too much\) \(request r1\)$"):
        client_of(service).continue_lists([["s1"]], k=501)


@pytest.mark.parametrize(
    "temporary",
    [
        problem(429),
        problem(503),
        httpx2.Response(502, text="<html>"),
        problem(504),
        httpx2.ConnectError("refused"),
        httpx2.ReadError("reset"),
        httpx2.RemoteProtocolError("closed"),
    ],
)
def test_temporary_failure_is_retried(client_of: Callable[..., Any], temporary: Any) -> None:
    service = Service(temporary, temporary, ok())
    assert len(client_of(service).continue_lists([["s1"]])) == 1
    assert len(service.requests) == 3


def test_pauses_are_random_below_a_doubling_limit(client_of: Callable[..., Any]) -> None:
    at, service = Time(), Service(problem(503))
    with pytest.raises(Unavailable):
        client_of(service, at, timeout=100, retries=9).continue_lists([["s1"]])
    drawn = Random(1)
    bounds = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5]
    assert at.pauses == pytest.approx([drawn.uniform(0, bound) for bound in bounds])


def test_last_failure_is_raised_when_retries_are_used_up(client_of: Callable[..., Any]) -> None:
    service = Service(httpx2.ConnectError("connection refused"))
    with pytest.raises(Unavailable, match="3 attempts: connection refused.*fans serve"):
        client_of(service, retries=2).continue_lists([["s1"]])
    assert len(service.requests) == 3


@pytest.mark.parametrize("later", ["2", "Wed, 01 Jan 2020 00:00:00 GMT"])
def test_retry_after_is_respected(client_of: Callable[..., Any], later: str) -> None:
    at, service = Time(), Service(problem(429, headers={"Retry-After": later}), ok())
    client_of(service, at).continue_lists([["s1"]])
    least = 2 if later == "2" else 0  # the date is in the past
    assert least <= at.pauses[0] <= least + 0.1


def test_no_retry_begins_after_the_deadline(client_of: Callable[..., Any]) -> None:
    at, service = Time(), Service(problem(503, headers={"Retry-After": "3"}))
    with pytest.raises(Unavailable, match="do this"):
        client_of(service, at).continue_lists([["s1"]], timeout=7)
    assert len(service.requests) == 3
    assert at.now < 107


def test_remaining_time_is_sent_to_the_service(client_of: Callable[..., Any]) -> None:
    at, service = Time(), Service(problem(503, headers={"Retry-After": "4"}), ok())
    client_of(service, at, random=Random(3)).continue_lists([["s1"]], timeout=5)
    first, second = (int(request.headers["fans-timeout-ms"]) for request in service.requests)
    assert first == 5000
    assert 900 <= second <= 1000


def test_reload_is_retried_only_if_it_was_not_sent(client_of: Callable[..., Any]) -> None:
    changed = {"models": [], "changed": ["fans"]}
    never_began = Service(httpx2.ConnectError("refused"), problem(503), ok(changed))
    assert client_of(never_began).reload() == changed
    for verb in ("reload", "rollback"):
        began = Service(httpx2.ReadError("reset"), ok(changed))
        with pytest.raises(Unavailable, match="reset"):
            getattr(client_of(began), verb)()
        assert [request.url.path for request in began.requests] == [f"/v1/models/{verb}"]


def test_ready_is_not_retried(client_of: Callable[..., Any]) -> None:
    assert client_of(Service(ok({"ready": True}))).ready()
    for away in (problem(503), httpx2.ConnectError("refused")):
        service = Service(away)
        assert not client_of(service).ready()
        assert len(service.requests) == 1


@pytest.mark.parametrize(
    "response",
    [
        httpx2.Response(200, text="<html>hello</html>"),
        httpx2.Response(200, json=[1]),
        httpx2.Response(200, json={"answers": [{}]}),
        httpx2.Response(301, headers={"Location": "https://elsewhere.test"}),
    ],
)
def test_response_of_another_service_raises_unavailable(
    client_of: Callable[..., Any], response: httpx2.Response
) -> None:
    with pytest.raises(Unavailable):
        client_of(Service(response)).continue_lists([["s1"]])


@pytest.mark.parametrize(
    "given",
    [
        {"url": "service.test"},
        {"url": "ftp://a"},
        {"timeout": 0},
        {"retries": -1},
        {"key": "secret\n"},
        {"key": "ключ"},
    ],
)
def test_invalid_arguments_are_refused(given: dict[str, Any]) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(BadSetting) as raised:
            kind(**{"url": URL} | given)
        assert "secret" not in str(raised.value)


def test_both_clients_have_the_same_methods() -> None:
    def methods_of(kind: type) -> dict[str, list[str]]:
        methods = inspect.getmembers(kind, inspect.isfunction)
        return {name: [*inspect.signature(method).parameters] for name, method in methods if name[0] != "_"}

    assert methods_of(Client) == methods_of(AsyncClient)


class Real(BaseHTTPRequestHandler):
    """A small service on a real socket."""

    protocol_version = "HTTP/1.1"
    connections: ClassVar[set[Any]] = set()
    drop_first = 0

    def do_POST(self) -> None:
        Real.connections.add(self.client_address)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if Real.drop_first:
            Real.drop_first -= 1
            self.close_connection = True
            return
        request = json.loads(body)
        if request["lists"] == [["slow"]]:
            self._trickle()
            return
        self._answer(json.dumps(ANSWERED | {"answers": ANSWERED["answers"] * len(request["lists"])}).encode())

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _trickle(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        try:
            for _ in range(100_000):  # until the client disconnects
                self.wfile.write(b" ")
                time.sleep(0.01)
        except OSError:
            pass
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def real_service() -> Iterator[str]:
    Real.connections, Real.drop_first = set(), 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Real)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_calls_share_a_connection_and_survive_a_closed_one(real_service: str) -> None:
    with Client(real_service, timeout=DEADLINE_S) as client:
        assert [len(client.continue_lists([["a"]] * n)) for n in (1, 2, 3)] == [1, 2, 3]
        assert len(Real.connections) == 1
        Real.drop_first = 1
        assert len(client.continue_lists([["a"]])) == 1
        assert len(Real.connections) == 2


def test_concurrent_calls_of_the_async_client(real_service: str) -> None:
    async def ask() -> list[int]:
        async with AsyncClient(real_service, timeout=DEADLINE_S) as client:
            return [len(a) for a in await asyncio.gather(*(client.continue_lists([["a"]] * n) for n in range(1, 9)))]

    assert asyncio.run(ask()) == [*range(1, 9)]


def test_slowly_arriving_answer_ends_at_the_deadline(real_service: str) -> None:
    async def ask() -> None:
        async with AsyncClient(real_service) as client:
            await client.continue_lists([["slow"]], timeout=0.3)

    def ask_sync() -> None:
        with Client(real_service) as client:
            client.continue_lists([["slow"]], timeout=0.3)

    for attempt in (ask_sync, lambda: asyncio.run(ask())):
        with pytest.raises(Unavailable, match="deadline"):
            attempt()


def test_client_imports_no_torch_and_names_the_missing_extra() -> None:
    code = (
        "import sys, fansrec.client; print({'torch', 'numpy', 'pydantic'} & set(sys.modules));"
        "[sys.modules.pop(name) for name in [*sys.modules] if name.startswith('fansrec.client')];"
        "sys.modules['httpx2'] = None\n"
        "try: import fansrec.client\nexcept Exception as error: print(type(error).__name__, error)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "set()\nMissingExtra httpx2 is not installed; run: pip install 'fansrec[client]'\n"
