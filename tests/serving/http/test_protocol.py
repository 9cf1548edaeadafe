"""Raw sockets against a small application behind the limited protocol."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn
import uvloop
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fansrec.serving.http import connection
from fansrec.serving.http.bodies import read_body
from fansrec.serving.http.protocol import MAX_PIPELINED, protocol_class
from serving.service import DEADLINE_S, until

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
RELEASED = threading.Event()  # lets the application answer /held


@dataclass
class Limits:
    max_connections: int = 8
    max_header_bytes: int = 2000
    header_timeout_s: float = DEADLINE_S
    body_timeout_s: float = DEADLINE_S
    write_timeout_s: float = DEADLINE_S
    max_unsent_bytes: int = 2**30
    keep_alive_s: int = DEADLINE_S
    max_body_bytes: int = 100_000
    max_unpacked_bytes: int = 100_000


async def small_app(scope: Any, receive: Any, send: Any) -> None:
    """Answer what was received: /unread without reading, /slow late, /held when released, /large with 30 MiB."""
    body = b"" if scope["path"] == "/unread" else await read_body(scope, receive, Limits(max_body_bytes=10**7))
    if scope["path"] == "/slow":
        await asyncio.sleep(0.1)
    while scope["path"] == "/held" and not RELEASED.is_set():
        await asyncio.sleep(0.01)
    answer = json.dumps({"path": scope["path"], "read": len(body), "headers": len(scope["headers"])}).encode()
    answer = bytes(30 * 2**20) if scope["path"] == "/large" else answer
    headers = [(b"content-length", str(len(answer)).encode())]
    await send(
        {"type": "http.response.start", "status": 429 if scope["path"] == "/unread" else 200, "headers": headers}
    )
    await send({"type": "http.response.body", "body": answer})


class Running:
    def __init__(self, limits: Limits, loop: Any) -> None:
        self.limits = limits  # read whenever a timer starts: a test may change it between two steps
        self.observed: list[tuple[str, str, int]] = []

        def observe(route: str, method: str, status: int, seconds: float) -> None:
            self.observed.append((route, method, status))

        protocol = protocol_class(limits, observe)
        self.server = uvicorn.Server(
            uvicorn.Config(
                small_app,
                http=protocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                timeout_keep_alive=limits.keep_alive_s,
            )
        )
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = self.listening.getsockname()
        self.thread = threading.Thread(target=self._run, args=(loop,))
        self.thread.start()
        assert until(lambda: self.server.started)

    def _run(self, loop: Any) -> None:
        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(self.server.serve([self.listening]))

    def connect(self) -> socket.socket:
        client = socket.create_connection(self.address, timeout=DEADLINE_S)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(DEADLINE_S)
        assert not self.thread.is_alive()


@contextlib.contextmanager
def running(limits: Limits | None = None, loop: Any = uvloop.new_event_loop) -> Iterator[Running]:
    service = Running(limits or Limits(), loop)
    try:
        yield service
    finally:
        service.stop()


@pytest.fixture(scope="module", params=[uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
def service(request: pytest.FixtureRequest) -> Iterator[Running]:
    """With long timeouts, which only tests of timeouts may reach."""
    with running(loop=request.param) as service:
        yield service


@pytest.fixture(scope="module", params=[uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
def hasty(request: pytest.FixtureRequest) -> Iterator[Running]:
    """With short timeouts."""
    with running(Limits(header_timeout_s=1, keep_alive_s=2), request.param) as service:
        yield service


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        assert self.headers["content-type"] == "application/problem+json"
        assert json.loads(self.body)["status"] == self.status
        return str(json.loads(self.body)["type"]).removeprefix("urn:fansrec:")


def read_answer(client: socket.socket, rest: bytes = b"") -> tuple[Answer, bytes]:
    """Return one answer, and the bytes after it."""
    while b"\r\n\r\n" not in rest:
        data = client.recv(65536)
        assert data, f"the connection ended after {rest!r}"
        rest += data
    head, _, rest = rest.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    while len(rest) < int(headers["content-length"]):
        rest += client.recv(65536)
    size = int(headers["content-length"])
    return Answer(int(first.split()[1]), headers, rest[:size]), rest[size:]


def ended(client: socket.socket) -> bool:
    """Return whether the other side has closed the connection without a reset."""
    return client.recv(65536) == b""


def refused(service: Running, *pieces: bytes, pause: float = 0.0) -> Answer:
    """Return the answer to bytes that are refused; the connection ends after it."""
    with service.connect() as client:
        for piece in pieces:
            client.sendall(piece)
            time.sleep(pause)
        answer, _ = read_answer(client)
        assert ended(client) and answer.headers["connection"] == "close" and answer.headers["x-request-id"]
        return answer


def send_slowly(client: socket.socket, pieces: list[bytes]) -> None:
    for piece in pieces:
        client.sendall(piece)
        time.sleep(0.001)


def alive(service: Running) -> bool:
    with service.connect() as client:
        client.sendall(GET)
        return read_answer(client)[0].status == 200


def test_valid_request_is_answered_and_the_connection_stays_open(service: Running) -> None:
    with service.connect() as client:
        for _ in range(3):
            client.sendall(b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
            assert json.loads(read_answer(client)[0].body) == {"path": "/a", "read": 3, "headers": 2}


BROKEN = {
    "not HTTP": b"hello\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "an unknown method": b"BREW / HTTP/1.1\r\n\r\n",
    "a NUL in a header": b"GET / HTTP/1.1\r\nA: b\0c\r\n\r\n",
    "a NUL in the path": b"GET /\0 HTTP/1.1\r\n\r\n",
    "bytes in the path": b"GET /\xff HTTP/1.1\r\n\r\n",
    "a space before the colon": b"GET / HTTP/1.1\r\nA : b\r\n\r\n",
    "a folded header": b"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "length and chunks": b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and length": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    "a negative length": b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "an endless length": b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 40 + b"\r\n\r\n",
    "a chunk past 64 bits": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nabc",
    "a negative chunk": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nabc",
    "an unknown transfer": b"POST / HTTP/1.1\r\nTransfer-Encoding: identity\r\n\r\nabc",
    "a bare line feed": b"GET / HTTP/1.1\nHost: x\n\n",
    "a future version": b"GET / HTTP/7.7\r\n\r\n",
}


@pytest.mark.parametrize("request_", BROKEN.values(), ids=BROKEN.keys())
def test_invalid_http_is_refused_and_closes_the_connection(service: Running, request_: bytes) -> None:
    assert refused(service, request_).kind in ("bad-http", "unsupported-transfer")


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"POST / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc",
        b"CONNECT elsewhere:80 HTTP/1.1\r\n\r\n",
    ],
)
def test_upgrades_and_tunnels_are_refused(service: Running, request_: bytes) -> None:
    assert refused(service, request_).kind == "no-upgrade"


def test_http_0_9_is_refused(service: Running) -> None:
    assert refused(service, b"GET /\r\n\r\n").status == 400


def headers_of(size: int) -> bytes:
    """Return a request whose path and headers have this size: name, value and four bytes around them."""
    return b"GET / HTTP/1.1\r\nX: " + b"a" * (size - 1 - 1 - 4) + b"\r\n\r\n"


@pytest.mark.parametrize("size", [1999, 2000])
def test_headers_up_to_the_limit_are_accepted(service: Running, size: int) -> None:
    with service.connect() as client:
        client.sendall(headers_of(size))
        assert read_answer(client)[0].status == 200


@pytest.mark.parametrize(
    "request_",
    [
        headers_of(2001),
        b"GET /" + b"a" * 2000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 500 + b"\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: " + b"a" * 400_000,
    ],
)
def test_larger_headers_are_refused(service: Running, request_: bytes) -> None:
    assert refused(service, request_).kind == "headers-too-large"


def test_endless_header_is_refused_before_its_end(service: Running) -> None:
    assert refused(service, b"GET / HTTP/1.1\r\nX: ", *[b"a" * 500] * 6, pause=0.01).kind == "headers-too-large"


def test_trailers_are_dropped_and_limited(service: Running) -> None:
    start = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"
    with service.connect() as client:
        client.sendall(start + b"Authorization: no\r\n\r\n")
        assert json.loads(read_answer(client)[0].body) == {"path": "/", "read": 3, "headers": 1}
    assert refused(service, start, b"a: b\r\n" * 1000).kind == "headers-too-large"


def test_slow_headers_time_out(hasty: Running) -> None:
    assert refused(hasty, b"GET / HT", b"TP/1.1\r\n", b"A: b\r\n").kind == "slow-headers"


def test_headers_sent_byte_by_byte_time_out(hasty: Running) -> None:
    with hasty.connect() as client, contextlib.suppress(ConnectionError):
        for _ in range(120):
            client.sendall(b"a")
            time.sleep(0.01)
        assert read_answer(client)[0].kind in ("slow-headers", "bad-http")


def test_connection_without_a_request_is_closed_without_an_answer(hasty: Running) -> None:
    with hasty.connect() as client:
        assert ended(client)


def test_idle_connection_is_closed(hasty: Running) -> None:
    with hasty.connect() as client:
        client.sendall(GET)
        read_answer(client)
        client.sendall(b"\r\n" * 3)  # empty lines are not a request
        assert ended(client)


@pytest.mark.parametrize("loop", [uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
def test_each_request_has_its_own_header_timeout(loop: Any) -> None:
    with running(loop=loop) as service, service.connect() as client:
        client.sendall(GET)
        read_answer(client)
        service.limits.header_timeout_s = 0.5
        time.sleep(0.7)  # longer than headers may take
        client.sendall(GET)
        assert read_answer(client)[0].status == 200
        client.sendall(GET[:9])
        assert read_answer(client)[0].kind == "slow-headers"


def test_pipelined_request_is_not_ended_by_the_keep_alive_timeout() -> None:
    with running(Limits(keep_alive_s=1)) as service, service.connect() as client:
        client.sendall(b"GET /slow HTTP/1.1\r\n\r\n" + GET[:9])
        assert read_answer(client)[0].status == 200
        time.sleep(1.2)  # longer than an idle connection is kept
        client.sendall(GET[9:])
        assert read_answer(client)[0].status == 200


def test_pipelined_requests_are_answered_in_order(service: Running) -> None:
    with service.connect() as client:
        client.sendall(
            b"GET /slow HTTP/1.1\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 1\r\n\r\nxGET /c HTTP/1.1\r\n\r\n"
        )
        rest, paths = b"", []
        for _ in range(3):
            answer, rest = read_answer(client, rest)
            paths.append(json.loads(answer.body)["path"])
        assert paths == ["/slow", "/b", "/c"]


@pytest.mark.parametrize("broken", [b"\0\0\0", b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"])
def test_invalid_bytes_after_a_request_do_not_prevent_its_answer(service: Running, broken: bytes) -> None:
    with service.connect() as client:
        client.sendall(b"GET /slow HTTP/1.1\r\n\r\n" + broken)
        answer, _ = read_answer(client)
        assert answer.status == 200 and answer.headers["connection"] == "close"
        assert ended(client)


def test_too_many_pipelined_requests_close_the_connection_after_the_accepted_ones(service: Running) -> None:
    with service.connect() as client:
        client.sendall(b"GET /slow HTTP/1.1\r\n\r\n" + GET * (MAX_PIPELINED + 10))
        rest = b""
        for _ in range(1 + MAX_PIPELINED):
            answer, rest = read_answer(client, rest)
        assert answer.headers["connection"] == "close" and not rest and ended(client)


@pytest.mark.parametrize("head", [b"", b"Connection: close\r\n"], ids=["kept", "closed"])
def test_answer_sent_before_the_body_was_received_arrives(service: Running, head: bytes) -> None:
    with service.connect() as client:
        client.sendall(b"POST /unread HTTP/1.1\r\n" + head + b"Content-Length: 50000\r\n\r\n")
        time.sleep(0.05)
        client.sendall(b"x" * 25_000)
        time.sleep(0.05)
        client.sendall(b"x" * 25_000)
        answer, _ = read_answer(client)
        assert answer.status == 429
        if head:
            assert ended(client)
        else:  # the rest is dropped, and the connection can be used again
            client.sendall(GET)
            assert read_answer(client)[0].status == 200


def test_endless_body_is_not_dropped_forever(service: Running) -> None:
    with service.connect() as client:
        client.sendall(b"POST /unread HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n")
        assert read_answer(client)[0].status == 429
        with pytest.raises(ConnectionError):
            send_slowly(client, [b"x" * 10_000] * 1000)


def test_expect_100_continue_is_refused_before_the_body(service: Running) -> None:
    with service.connect() as client:
        client.sendall(b"POST /unread HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        answer, _ = read_answer(client)
        assert answer.status == 429 and answer.headers["connection"] == "close"
        assert ended(client)


def test_expect_100_continue_is_answered(service: Running) -> None:
    with service.connect() as client:
        client.sendall(b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        client.sendall(b"hello")
        assert json.loads(read_answer(client)[0].body)["read"] == 5


def test_client_that_does_not_read_its_answer_is_disconnected() -> None:
    with running(Limits(write_timeout_s=1)) as service, service.connect() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(b"GET /large HTTP/1.1\r\n\r\n")
        assert until(lambda: service.server.server_state.connections != set())
        assert until(lambda: service.server.server_state.connections == set())


def test_connections_above_the_limit_are_refused_with_retry_after() -> None:
    with running(Limits(max_connections=2)) as service:
        with service.connect() as one, service.connect() as two:
            for held in (one, two):
                held.sendall(GET)
                read_answer(held)
            answer = refused(service, GET)
            assert answer.kind == "too-many-connections" and answer.headers["retry-after"] == "1"
            one.sendall(GET)
            assert read_answer(one)[0].status == 200
        assert until(lambda: alive(service))
        assert set(service.observed) == {("other", "other", 503)}


def test_refusals_of_the_protocol_are_counted() -> None:
    with running() as service:
        refused(service, b"\0")
        refused(service, headers_of(2001))
        assert service.observed == [("other", "other", 400), ("other", "other", 431)]


def test_shutdown_answers_requests_on_their_way_and_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "GRACE_S", DEADLINE_S)
    RELEASED.clear()
    with running() as service, contextlib.ExitStack() as clients:
        connections: set[Any] = service.server.server_state.connections
        busy, idle, sending = (clients.enter_context(service.connect()) for _ in range(3))
        idle.sendall(GET)
        read_answer(idle)
        busy.sendall(b"GET /held HTTP/1.1\r\n\r\n")
        sending.sendall(GET[:9])
        assert until(lambda: any(each.busy() for each in connections) and any(each.in_headers for each in connections))
        service.server.should_exit = True
        assert until(lambda: all(each.draining for each in connections))
        RELEASED.set()
        idle.sendall(GET)  # a request that was on its way when the service was stopped
        sending.sendall(GET[9:])
        for client in (busy, idle, sending):
            answer, _ = read_answer(client)
            assert answer.status == 200 and answer.headers["connection"] == "close"
            assert ended(client)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(min_size=1, max_size=300) | st.lists(st.sampled_from(list(BROKEN.values()) + [GET])).map(b"".join))
def test_any_bytes_leave_the_service_running(service: Running, content: bytes) -> None:
    with service.connect() as client, contextlib.suppress(ConnectionError):
        client.sendall(content)
        client.shutdown(socket.SHUT_WR)
        while client.recv(65536):
            pass
    assert alive(service)
