"""Requests whose head is known: they are answered without the parser, and as the parser's requests are."""

import asyncio
import json
import re
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from fansrec.serving.http.direct import DirectRequest
from fansrec.serving.http.keys import new_key, remove_key
from fansrec.serving.processes.deployment_manager import DeploymentManager
from fansrec.serving.processes.dispatch import Worker
from fansrec.serving.processes.jobs import BUG
from fansrec.serving.processes.load_limits import OVERLOAD
from fansrec.serving.server import Server
from fansrec.serving.service import Service
from fansrec.serving.settings import read_settings
from serving.processes.test_dispatch import FakeChannel
from serving.service import DEADLINE_S

BODY = {"lists": [["a", "b"]], "k": 2}


def encode(body: object = BODY, *headers: str, method: str = "POST", version: str = "1.1") -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = ["Host: localhost", "Content-Type: application/json", *headers, f"Content-Length: {len(content)}"]
    return (f"{method} /v1/continue HTTP/{version}\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode() + content


class Answer:
    def __init__(self, head: bytes, body: bytes) -> None:
        first, *lines = head.decode().split("\r\n")
        self.status = int(first.split()[1])
        self.headers = [tuple(line.split(": ", 1)) for line in lines]
        self.body = body
        self.problem = json.loads(body) if body.startswith(b"{") else {}

    @property
    def but_ids(self) -> tuple[int, list[Any], bytes]:
        """What is equal for two equal requests."""
        changing = {"date", "x-request-id", "traceparent"}
        headers = [(name, None if name in changing else value) for name, value in self.headers]
        return self.status, headers, re.sub(rb'"request_id":"\w+"', b"", self.body)


class Setup:
    """A service with one worker, which answers when the test says so, and one client."""

    def __init__(self, **flags: object) -> None:
        settings = read_settings({"models": ["m"], "notice_s": 0} | flags, None, {})
        self.service = Service(settings, asyncio.get_running_loop())
        self.server = Server(self.service)
        self.server.config.load()
        self.server.lifespan = self.server.config.lifespan_class(self.server.config)
        self.channel = FakeChannel()
        self.worker = Worker(self.channel, 0, lambda worker: None)  # type: ignore[arg-type]
        self.service.dispatcher.add_worker(self.worker)

    async def connect(self) -> "Client":
        ours, theirs = socket.socketpair()
        loop = asyncio.get_running_loop()
        _, protocol = await loop.connect_accepted_socket(self.server._protocol, ours)
        reader, writer = await asyncio.open_connection(sock=theirs)
        return Client(self, protocol, reader, writer)

    def counted(self, name: str) -> float:
        lines = self.service.metrics.text().decode().splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


class Client:
    def __init__(self, setup: Setup, protocol: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.setup, self.protocol, self.reader, self.writer = setup, protocol, reader, writer

    @property
    def is_direct(self) -> bool:
        return isinstance(self.protocol.active, DirectRequest)

    async def send(self, data: bytes) -> None:
        """Send a request and wait until a worker has it."""
        sent = len(self.setup.channel.sent)
        self.writer.write(data)
        while len(self.setup.channel.sent) == sent:
            await asyncio.sleep(0.001)

    async def receive(self) -> Answer:
        head = (await self.reader.readuntil(b"\r\n\r\n"))[:-4]
        size = int(re.search(rb"content-length: (\d+)", head)[1])  # type: ignore[index]
        return Answer(head, await self.reader.readexactly(size))

    async def ask(self, data: bytes, error: str = "") -> Answer:
        await self.send(data)
        self.setup.channel.reply(error=error)
        return await self.receive()

    async def refused(self, data: bytes) -> Answer:
        """Send a request that no worker gets."""
        self.writer.write(data)
        return await self.receive()

    async def learn(self) -> None:
        assert (await self.ask(encode())).status == 200 and not self.is_direct


@pytest.fixture(autouse=True)
def _models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeploymentManager, "models", property(lambda self: [{"name": "m", "hash": "x"}]))


def run(test: Callable[[Setup, Client], Awaitable[None]], **flags: object) -> None:
    async def within_deadline() -> None:
        setup = Setup(**flags)
        client = await setup.connect()
        async with asyncio.timeout(DEADLINE_S):
            await test(setup, client)
        client.writer.close()

    asyncio.run(within_deadline())


def test_the_second_request_with_a_head_is_direct_and_gets_an_equal_answer() -> None:
    async def test(setup: Setup, client: Client) -> None:
        first = await client.ask(encode())
        assert not client.is_direct
        second = await client.ask(encode())
        assert client.is_direct and first.but_ids == second.but_ids
        assert dict(first.headers)["x-request-id"] != dict(second.headers)["x-request-id"]
        other = await client.ask(encode({"lists": [["c"]], "k": 5}))
        assert client.is_direct and other.status == 200
        assert [job[2:4] for sent in setup.channel.sent for job in sent["jobs"]][1:] == [
            ([["a", "b"]], 2),
            ([["c"]], 5),
        ]
        await asyncio.sleep(0)
        assert setup.counted("fans_http_requests_total") == 3

    run(test)


def test_another_connection_knows_the_head_too() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        other = await setup.connect()
        assert (await other.ask(encode())).status == 200 and other.is_direct

    run(test)


@pytest.mark.parametrize(
    "request_",
    [
        encode(BODY, "X-Request-Id: mine"),
        encode(BODY, "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        encode(BODY, "Origin: http://localhost"),
        encode(BODY, "Connection: close"),
        encode(BODY, version="1.0"),
    ],
    ids=["request id", "trace", "origin", "close", "HTTP/1.0"],
)
def test_heads_that_change_the_answer_are_not_known(request_: bytes) -> None:
    async def test(setup: Setup, client: Client) -> None:
        for _ in range(2):
            other = await setup.connect()
            assert (await other.ask(request_)).status == 200 and not other.is_direct

    run(test)


@pytest.mark.parametrize(
    "body",
    [b"{", b"", b'{"lists": 5}', {"lists": []}, BODY | {"model": "none"}, BODY | {"k": 0}, BODY | {"more": 1}],
    ids=["not JSON", "empty", "no list", "no lists", "unknown model", "k", "field"],
)
def test_problems_are_the_same(body: object) -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        direct = await client.refused(encode(body))
        assert client.is_direct and direct.status >= 400
        usual = await (await setup.connect()).refused(encode(body, "X-Other: 1"))
        assert direct.but_ids == usual.but_ids
        assert (await client.ask(encode())).status == 200 and client.is_direct  # the connection goes on

    run(test)


@pytest.mark.parametrize(("error", "status"), [("UnknownItems", 422), (BUG, 500), ("late", 504)])
def test_errors_of_workers_are_the_same(error: str, status: int) -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        direct = await client.ask(encode(), error)
        assert client.is_direct and direct.status == status
        usual = await (await setup.connect()).ask(encode(BODY, "X-Other: 1"), error)
        assert direct.but_ids == usual.but_ids

    run(test)


def test_a_body_above_the_limit_goes_the_usual_way() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        answer = await client.refused(encode({"lists": [["a" * 200]]}))
        assert answer.status == 413 and not client.is_direct

    run(test, max_body_bytes=100)


def test_requests_behind_a_direct_one_are_answered_after_it() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        await client.send(encode({"lists": [["first"]]}))
        client.writer.write(encode({"lists": [["second"]]}) + encode({"lists": 3}))
        await asyncio.sleep(0.05)
        assert client.is_direct and setup.channel.sent[-1]["jobs"][0][2] == [["first"]]
        setup.channel.reply()
        assert (await client.receive()).status == 200
        while setup.channel.sent[-1]["jobs"][0][2] != [["second"]]:
            await asyncio.sleep(0.001)
        setup.channel.reply()
        assert [(await client.receive()).status, (await client.receive()).status] == [200, 422]

    run(test)


def test_bytes_that_are_not_http_behind_a_direct_request_end_the_connection_after_its_answer() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        await client.send(encode())
        client.writer.write(b"\0\0\0 nonsense\r\n\r\n")
        while not client.protocol.ignores_input:
            await asyncio.sleep(0.001)
        setup.channel.reply()
        answer = await client.receive()
        assert answer.status == 200 and ("connection", "close") in answer.headers
        assert await client.reader.read() == b""

    run(test)


def test_a_client_that_leaves_is_not_waited_for() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        busy = await setup.connect()
        await busy.send(encode())
        client.writer.write(encode())  # it waits in the queue
        while not len(setup.service.dispatcher.queue):
            await asyncio.sleep(0.001)
        client.writer.close()
        while len(setup.service.dispatcher.queue):
            await asyncio.sleep(0.001)
        await asyncio.sleep(0)
        assert setup.counted('fans_http_requests_total{method="POST",route="/v1/continue",status="499"}') == 1
        setup.channel.reply()
        assert (await busy.receive()).status == 200

    run(test)


def test_the_deadline_of_a_request_ends_its_wait() -> None:
    async def test(setup: Setup, client: Client) -> None:
        request = encode(BODY, "Fans-Timeout-Ms: 3000000")
        assert (await client.ask(request)).status == 200
        short = encode(BODY, "Fans-Timeout-Ms: 1")
        assert (await client.refused(short)).status == 504
        setup.channel.reply()
        answer = await client.refused(short)
        assert client.is_direct and answer.status == 504 and answer.problem["type"] == "urn:fansrec:deadline"

    run(test)


def test_a_service_that_stops_refuses_requests_that_it_ends() -> None:
    """The server cancels what it waits for when its time is over."""

    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        await client.send(encode())
        (task,) = setup.server.server_state.tasks
        client.protocol.shutdown()
        task.cancel("the time is over")
        answer = await client.receive()
        assert answer.status == 503 and answer.problem["type"] == "urn:fansrec:stopping"
        assert ("connection", "close") in answer.headers and await client.reader.read() == b""
        assert not setup.server.server_state.tasks

    run(test)


def test_requests_go_the_usual_way_while_the_service_is_about_to_stop() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        setup.service.draining = True
        answer = await client.ask(encode())
        assert not client.is_direct and ("connection", "close") in answer.headers

    run(test)


def test_a_queue_without_room_is_an_overload() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        setup.service.dispatcher.load.refusal = lambda tokens=0: OVERLOAD if tokens else None  # type: ignore[method-assign]
        answer = await client.refused(encode())
        assert client.is_direct and answer.status == 429 and ("retry-after", "1") in answer.headers

    run(test)


def test_a_fault_of_the_service_is_a_problem_too() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        setup.service.dispatcher.submit = None  # type: ignore[method-assign,assignment]
        answer = await client.refused(encode())
        assert client.is_direct and answer.problem["type"] == "urn:fansrec:internal"

    run(test)


def test_a_removed_key_no_longer_opens_a_known_head(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    key, _ = new_key(file, "web", "use"), new_key(file, "other", "use")

    async def test(setup: Setup, client: Client) -> None:
        request = encode(BODY, f"Authorization: Bearer {key}")
        assert (await client.ask(request)).status == 200
        assert (await client.ask(request)).status == 200 and client.is_direct
        remove_key(file, "web")
        assert setup.service.keys is not None
        setup.service.keys._checked_at = -DEADLINE_S  # the file is looked at again
        answer = await client.refused(request)
        assert client.is_direct and answer.problem["type"] == "urn:fansrec:wrong-key"

    run(test, keys=file)
