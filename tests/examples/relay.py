"""A relay in front of a service, which tests make slow, overloaded or dead."""

import json
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

import httpx2

from fansrec.serving.writes.folder import no_model_takes_writes, writes_are_off
from serving.service import DEADLINE_S

# What a service answers to writes that was started again without --writes, or got a model that cannot be updated.
REFUSALS = {"no-writes": writes_are_off(), "not-updatable": no_model_takes_writes()}
HEADERS = ("Content-Type", "Authorization", "Content-Encoding")


class Relay:
    """`with Relay(service.url) as relay:` passes requests on, or does what `relay.mode` says instead.

    The modes: `pass`, `overloaded` (429), `hang` (no answer while the mode lasts), `drop` (closes the connection),
    `lose` (passes the request on and closes the connection instead of answering), and the keys of REFUSALS.
    """

    def __init__(self, url: str, port: int = 0) -> None:
        self.mode, self.connections = "pass", 0
        self.requests, self.bodies = list[tuple[str, str]](), list[bytes]()
        self._http = httpx2.Client(base_url=url, timeout=DEADLINE_S)
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def _handler(relay) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # connections stay open

            def setup(self) -> None:
                relay.connections += 1
                super().setup()

            def handle_request(self) -> None:
                relay.answer(self)

            do_GET = do_POST = do_DELETE = handle_request

            def log_message(self, *args: object) -> None:
                pass

        return Handler

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        self.requests.append((handler.command, handler.path))
        self.bodies.append(body)
        if self.mode == "overloaded":
            self._reply(handler, 429, b"{}", {"Retry-After": "60"})
            return
        while self.mode == "hang":
            threading.Event().wait(0.02)
        if self.mode == "drop":
            self._close(handler)
            return
        if self.mode in REFUSALS and handler.command != "GET":
            refusal = REFUSALS[self.mode]
            self._reply(handler, refusal.status, refusal.body("r1"), {"Content-Type": "application/problem+json"})
            return
        headers = {name: value for name in HEADERS if (value := handler.headers.get(name))}
        found = self._http.request(handler.command, handler.path, content=body, headers=headers)
        if self.mode == "lose":
            self._close(handler)
            return
        content = found.content
        if self.mode in REFUSALS and handler.path == "/v1/models":
            content = _without_writes(content, self.mode)
        self._reply(handler, found.status_code, content, {"Content-Type": found.headers["content-type"]})

    @staticmethod
    def _close(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        with suppress(OSError):
            handler.connection.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def _reply(handler: BaseHTTPRequestHandler, status: int, content: bytes, headers: dict[str, str]) -> None:
        with suppress(OSError):  # the client has given up
            handler.send_response(status)
            for name, value in headers.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(content)))
            handler.end_headers()
            handler.wfile.write(content)

    def __enter__(self) -> "Relay":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.mode = "drop"
        self._server.shutdown()
        self._server.server_close()
        self._http.close()


def _without_writes(content: bytes, kind: str) -> bytes:
    """Return the description of a service as it is while it refuses writes."""
    found = json.loads(content)
    if kind == "no-writes":
        found["writes"] = None
    return json.dumps(found | {"models": [model | {"seq": None} for model in found["models"]]}).encode()
