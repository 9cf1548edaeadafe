"""The end of idle connections: no request that has arrived is lost, whenever a timer ends."""

import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from fansrec.serving.http.protocol import LimitedProtocol
from serving.http.test_protocol import GET, Running, ended, read_answer
from serving.http.test_protocol import service as service
from serving.service import DEADLINE_S, until

TIMERS: dict[str, Callable[[LimitedProtocol], None]] = {
    "keep-alive": LimitedProtocol.timeout_keep_alive_handler,
    "first request": LimitedProtocol._headers_too_slow,
}


def in_loop(connection: LimitedProtocol, work: Callable[[], object]) -> None:
    """Run `work` as one callback of the server's event loop, which reads from no socket meanwhile."""
    done = threading.Event()

    def run() -> None:
        try:
            work()
        finally:
            done.set()

    connection.loop.call_soon_threadsafe(run)
    assert done.wait(DEADLINE_S)


def connection_of(service: Running, client: socket.socket) -> LimitedProtocol:
    """Return the server's side of a connection."""

    def found() -> list[Any]:
        return [one for one in [*service.server.server_state.connections] if one.client == client.getsockname()]

    assert until(found)
    return found()[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("timer", TIMERS.values(), ids=TIMERS)
def test_request_that_arrives_when_the_timer_ends_is_answered(
    service: Running, timer: Callable[[LimitedProtocol], None]
) -> None:
    with service.connect() as client:
        connection = connection_of(service, client)
        if timer is LimitedProtocol.timeout_keep_alive_handler:
            client.sendall(GET)
            read_answer(client)
        connection.header_timer.cancel()

        def send_and_end_timer() -> None:
            client.sendall(GET)  # now in the buffer of the server's socket
            timer(connection)

        in_loop(connection, send_and_end_timer)
        assert read_answer(client)[0].status == 200
        client.sendall(GET)
        assert read_answer(client)[0].status == 200


@pytest.mark.parametrize("timer", TIMERS.values(), ids=TIMERS)
def test_client_learns_at_once_that_its_idle_connection_ends(
    service: Running, timer: Callable[[LimitedProtocol], None]
) -> None:
    with service.connect() as client:
        connection, seen = connection_of(service, client), []

        def end_timer() -> None:
            timer(connection)
            seen.append(ended(client))  # before the loop continues, in which time the client could send in vain

        in_loop(connection, end_timer)
        assert seen == [True]
        assert until(lambda: connection not in service.server.server_state.connections)


def test_bytes_that_are_not_a_request_do_not_keep_an_idle_connection(service: Running) -> None:
    with service.connect() as client:
        connection = connection_of(service, client)
        client.sendall(GET)
        read_answer(client)

        def send_and_end_timer() -> None:
            client.sendall(b"\r\n")
            connection.timeout_keep_alive_handler()

        in_loop(connection, send_and_end_timer)
        assert ended(client)
