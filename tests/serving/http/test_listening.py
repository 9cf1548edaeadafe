"""A listening socket that is about to close takes no new connection and keeps those it has."""

import socket
import sys

import pytest

from fansrec.serving.http.listening import drop_new_connections
from serving.service import DEADLINE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="packets are dropped on Linux only")


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_new_connections_are_dropped_and_waiting_ones_accepted(family: socket.AddressFamily, host: str) -> None:
    try:
        listening = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f"{host} cannot be listened on here")
    with listening, socket.create_connection(listening.getsockname()[:2], DEADLINE_S) as waiting:
        if not drop_new_connections(listening):
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
