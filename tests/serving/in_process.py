"""A service within the test's process: its server and one worker that answers when the test says so."""

import asyncio
import json
import re
import socket
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from fansrec.serving.http.direct import DirectRequest
from fansrec.serving.processes.dispatch import Worker
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
        models = [{"name": "m", "hash": "x"}]
        self.service.deployments = SimpleNamespace(models=models, ready=True)  # type: ignore[assignment]
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
        found = re.search(rb"content-length: (\d+)", head)
        size = int(found[1]) if found else 0
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


def run(test: Callable[[Setup, Client], Awaitable[None]], **flags: object) -> None:
    async def within_deadline() -> None:
        setup = Setup(**flags)
        client = await setup.connect()
        async with asyncio.timeout(DEADLINE_S):
            await test(setup, client)
        client.writer.close()

    asyncio.run(within_deadline())
