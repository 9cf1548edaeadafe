"""What HAProxy's configuration does with each route, in front of services whose connections break."""

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from deploy.balancer import CONFIGURATION, Balancer, haproxy
from fansrec.serving.http import routes
from fansrec.serving.server import KEEP_ALIVE_SECONDS
from fansrec.serving.settings import Settings
from serving.service import DEADLINE_S, until

OF_ONE_SERVICE = {routes.METRICS, routes.RELOAD, routes.ROLLBACK}
CASES = [
    (method, route.path.replace("{id}", "a"))
    for route in routes.ALL_ROUTES
    for method in route.methods
    if route not in OF_ONE_SERVICE | {routes.READY}
] + [("OPTIONS", routes.LISTS.path), ("PUT", "/v1/new")]
DEFAULTS = {name: field.default for name, field in Settings.model_fields.items()}


class BreaksConnections(BaseHTTPRequestHandler):
    """Answers health checks; notes every other request and closes its connection without an answer."""

    protocol_version = "HTTP/1.1"
    received: list[tuple[str, str, int]] = []  # noqa: RUF012 — method, path and port, of all connections

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == routes.READY.path:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.received.append((self.command, self.path, self.server.server_address[1]))
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_DELETE = do_OPTIONS = do_PUT = answer

    def log_message(self, format: str, *args: object) -> None:
        pass


@dataclass
class Broken:
    """A balancer in front of two services that break every connection, and their ports."""

    balancer: Balancer
    ports: dict[str, int]

    def ask(self, method: str, path: str, content: bytes | None = None) -> httpx2.Response:
        # After an earlier answer on the same connection, HAProxy closes it instead of answering 502.
        headers = {"Connection": "close"}
        return self.balancer.http.request(method, path, content=content, headers=headers)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broken]:
    servers = {name: ThreadingHTTPServer(("127.0.0.1", 0), BreaksConnections) for name in ("one", "two")}
    for server in servers.values():
        threading.Thread(target=server.serve_forever, daemon=True).start()
    ports = {name: server.server_port for name, server in servers.items()}
    with Balancer(tmp_path_factory.mktemp("haproxy"), ports) as balancer:
        assert until(lambda: balancer.is_checked("one") and balancer.is_checked("two"))
        yield Broken(balancer, ports)
    for server in servers.values():
        server.shutdown()
        server.server_close()


def seconds(setting: str) -> float:
    """Return a time in the configuration, in seconds."""
    (line,) = [line for line in CONFIGURATION.read_text().splitlines() if line.strip().startswith(f"{setting} ")]
    return float(line.split()[-1].removesuffix("s"))


def test_haproxy_accepts_its_configuration_without_warnings(tmp_path: Path) -> None:
    text = CONFIGURATION.read_text().replace("chroot /var/lib/haproxy\n", "")
    kept = [line for line in text.splitlines(keepends=True) if line.split()[:1] not in (["user"], ["group"])]
    (tmp_path / "haproxy.cfg").write_text("".join(kept))
    done = subprocess.run([haproxy(), "-c", "-f", tmp_path / "haproxy.cfg"], capture_output=True, text=True)
    assert done.returncode == 0 and "WARNING" not in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize(("method", "path"), CASES)
def test_only_requests_that_change_nothing_are_repeated_when_a_connection_breaks(
    broken: Broken, method: str, path: str
) -> None:
    BreaksConnections.received.clear()
    answer = broken.ask(method, path, b"{}" if method == "POST" else None)
    assert answer.status_code == 502
    if method != "HEAD":
        assert answer.headers["content-type"] == "application/problem+json" and answer.json()["status"] == 502
    received = BreaksConnections.received
    if method in ("GET", "HEAD", "OPTIONS") or path == routes.CONTINUE.path:
        assert [one[:2] for one in received] == [(method, path)] * 4
        assert {port for *_, port in received} == {*broken.ports.values()}
    else:
        assert received == [(method, path, broken.ports["one"])]


def test_requests_are_refused_with_a_problem_while_no_service_is_ready(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nothing:
        port = nothing.getsockname()[1]
    with Balancer(tmp_path, {"one": port, "two": port}) as balancer:
        assert until(lambda: not balancer.is_up("one") and not balancer.is_up("two"))
        for path in ("/v1/continue", "/v1/lists"):
            refused = balancer.http.post(path, content=b"{}")
            assert refused.status_code == 503 and refused.headers["retry-after"] == "1"
            assert refused.json()["type"] == "urn:fansrec:no-service"


@pytest.mark.parametrize("path", [*(route.path for route in sorted(OF_ONE_SERVICE, key=str)), "/metric%73"])
def test_routes_that_concern_one_service_are_not_balanced(broken: Broken, path: str) -> None:
    BreaksConnections.received.clear()
    for method in ("GET", "POST"):
        refused = broken.ask(method, path)
        assert refused.status_code == refused.json()["status"] == 404
    assert not BreaksConnections.received


def test_bodies_that_services_would_refuse_are_refused(broken: Broken) -> None:
    BreaksConnections.received.clear()
    connection = HTTPConnection(urlsplit(broken.balancer.url).netloc, timeout=DEADLINE_S)
    with closing(connection):  # only the head is sent: a client that is still sending might not read the answer
        connection.putrequest("POST", "/v1/lists")
        connection.putheader("Content-Length", str(DEFAULTS["max_body_bytes"] + 1))
        connection.endheaders()
        refused = connection.getresponse()
        assert refused.status == json.loads(refused.read())["status"] == 413
    assert not BreaksConnections.received


def test_times_and_limits_agree_with_those_of_the_service() -> None:
    assert seconds("timeout http-keep-alive") < KEEP_ALIVE_SECONDS
    assert seconds("timeout http-request") == DEFAULTS["header_timeout_s"]
    assert seconds("timeout client") >= DEFAULTS["body_timeout_s"]
    assert seconds("timeout server") > DEFAULTS["timeout_ms"] / 1000
    words = CONFIGURATION.read_text().split()
    after = {word: words[at + 1] for at, word in enumerate(words[:-1]) if word in ("inter", "fastinter", "fall")}
    noticed = int(after["inter"].removesuffix("ms")) + int(after["fastinter"].removesuffix("ms"))
    assert after["fall"] == "2" and noticed < 1000 * DEFAULTS["notice_s"]
    limits = [int(words[at + 1]) for at, word in enumerate(words) if word == "maxconn"]
    assert sum(limits[1:]) < DEFAULTS["max_connections"] < limits[0]
    assert int(words[words.index("tune.bufsize") + 1]) > DEFAULTS["max_header_bytes"]
