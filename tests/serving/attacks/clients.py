"""Clients that send raw bytes, and the answers of the service."""

import json
import re
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fansrec.serving.http.keys import Role, new_key
from serving.service import Running

TIMEOUT_S = 60  # longer than any answer takes, also on a slow machine
BODY = b'{"lists": [["i1", "i2"]], "k": 3}'
HEADER_S, MAX_CONNECTIONS = 5, 350


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


class Target:
    """A service with keys that is attacked, and a regular client of it."""

    def __init__(self, running: Running, keys: dict[Role, str]) -> None:
        self.running, self.keys = running, keys
        self.headers = {"Authorization": f"Bearer {keys['use']}"}
        address = urlsplit(running.url)
        self.address = str(address.hostname), int(address.port or 0)
        self.workers = running.workers()

    def connect(self, receive_bytes: int | None = None) -> socket.socket:
        client = socket.socket()
        if receive_bytes is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        client.settimeout(TIMEOUT_S)
        client.connect(self.address)
        return client

    def send(self, content: bytes) -> list[Answer]:
        """Send the bytes, wait until the service closes the connection, and return all its answers."""
        with self.connect() as client:
            with suppress(ConnectionError):  # it may close before it has read everything
                client.sendall(content)
            return answers(client)

    def ask(self, **more: Any) -> Any:
        return self.running.ask([["i1", "i2"]], headers=self.headers, **more)

    def check_unharmed(self) -> None:
        """Check that the same processes run and a valid request is answered."""
        assert self.running.process.poll() is None
        assert self.ask(k=3).status_code == 200
        assert self.running.http.get("/health/ready").status_code == 200
        assert self.running.workers() == self.workers

    def head(self, line: str = "POST /v1/continue HTTP/1.1", *fields: str) -> bytes:
        """Return the head of a JSON request with a key, to which fields and a body are added."""
        lines = [line, "Host: localhost", f"Authorization: Bearer {self.keys['use']}", "Content-Type: application/json"]
        return "\r\n".join([*lines, *fields]).encode("latin-1") + b"\r\n"


def make_keys(file: Path) -> dict[Role, str]:
    roles: tuple[Role, ...] = ("use", "admin", "metrics")
    return {role: new_key(file, role, role) for role in roles}


def answers(client: socket.socket) -> list[Answer]:
    content = b""
    with suppress(ConnectionError):
        while piece := client.recv(65536):
            content += piece
    found = []
    while content:
        head, _, content = content.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        assert re.fullmatch(r"HTTP/1\.1 \d{3} .*", first), first
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        size = int(headers.get("content-length", 0))
        found.append(Answer(int(first.split()[1]), headers, content[:size]))
        content = content[size:]
    return found


def kind(answer: Answer) -> str:
    return str(json.loads(answer.body)["type"]).removeprefix("urn:fansrec:")
