"""Sockets that were opened for the service, as systemd does it, and sockets that are about to close."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from fansrec.errors import BadSetting
from fansrec.serving.http.sockets import drop_new_connections, inherited_socket
from serving.service import DEADLINE_S

PASS_ON = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3, inheritable=True); "
    "os.environ |= {'LISTEN_PID': str(os.getpid()), 'LISTEN_FDS': '1'}; os.execv(sys.argv[2], sys.argv[2:])"
)
TRY_OUT = "import socket; socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)"


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as opened:
        yield opened


def environment_for(*, pid: int | None = None, count: str = "1") -> dict[str, str]:
    return {"LISTEN_PID": str(os.getpid() if pid is None else pid), "LISTEN_FDS": count, "OTHER": "x"}


def test_no_socket_for_this_process_returns_none() -> None:
    assert inherited_socket({}, 1, "127.0.0.1", 1) is None
    environment = environment_for(pid=1)
    assert inherited_socket(environment, os.getpid(), "127.0.0.1", 1) is None
    assert environment == {"OTHER": "x"}  # so that children do not use it


def test_several_sockets_are_refused() -> None:
    with pytest.raises(BadSetting, match="2 sockets"):
        inherited_socket(environment_for(count="2"), os.getpid(), "127.0.0.1", 1)


def check(listening: socket.socket, host: str, port: int) -> subprocess.CompletedProcess[str]:
    """Take over `listening` in another process, which prints its address."""
    program = (
        "import os; from fansrec.serving.http.sockets import inherited_socket as i; "
        f"print(i(os.environ, os.getpid(), {host!r}, {port}).getsockname())"
    )
    command = [sys.executable, "-c", PASS_ON, str(listening.fileno()), sys.executable, "-c", program]
    return subprocess.run(command, pass_fds=[listening.fileno()], capture_output=True, text=True)


def test_socket_must_match_the_settings(listening: socket.socket) -> None:
    host, port = listening.getsockname()
    assert check(listening, host, port).stdout.strip() == str((host, port))
    for wrong in ((host, port + 1), ("0.0.0.0", port), ("::1", port)):
        assert "is not one that listens" in check(listening, *wrong).stderr


@pytest.mark.skipif(
    shutil.which("unshare") is None
    or subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode != 0,
    reason="needs the right to make a network namespace (root)",
)
def test_service_answers_from_an_empty_network_namespace(listening: socket.socket, songs: Path, tmp_path: Path) -> None:
    """As with PrivateNetwork=yes of the unit: nothing can be reached from inside, and clients are answered."""
    host, port = listening.getsockname()
    inside = ["unshare", "--net", sys.executable, "-c"]
    tried = subprocess.run([*inside, f"import sys; {TRY_OUT}", host, str(port)], capture_output=True, text=True)
    assert tried.returncode != 0 and "OSError" in tried.stderr
    serve = [sys.executable, "-c", "from fansrec.cli.main import run; run()", "serve", str(songs / "run")]
    command = [*inside, PASS_ON, str(listening.fileno()), *serve, "--port", str(port), "--workers", "1"]
    environment = os.environ | {"FANS_SEARCH_FOLDER": str(tmp_path)}
    service = subprocess.Popen(command, pass_fds=[listening.fileno()], env=environment, stderr=subprocess.DEVNULL)
    try:
        assert ready(f"http://{host}:{port}/health/ready", service)
    finally:
        service.terminate()
        assert service.wait(60) == 0


def ready(url: str, service: "subprocess.Popen[bytes]") -> bool:
    """Wait until the service is ready; return False if it exits, or after two minutes."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and service.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return bool(answer.status == 200)
        except OSError:
            time.sleep(0.1)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="packets are dropped on Linux only")
@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_new_connections_are_dropped_and_waiting_ones_accepted(family: socket.AddressFamily, host: str) -> None:
    try:
        listening = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f"{host} cannot be listened on here")
    with listening, socket.create_connection(listening.getsockname()[:2], DEADLINE_S) as waiting:
        if not drop_new_connections(listening) and os.geteuid() != 0:
            pytest.skip("this system does not let an ordinary user drop packets; run the test as root")
        with pytest.raises(TimeoutError):
            socket.create_connection(listening.getsockname()[:2], 0.2)
        waiting.sendall(b"request")
        accepted, _ = listening.accept()
        with accepted:
            accepted.settimeout(DEADLINE_S)
            assert accepted.recv(100) == b"request"
            accepted.sendall(b"answer")
            assert waiting.recv(100) == b"answer"
