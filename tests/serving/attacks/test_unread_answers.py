"""Clients that request large answers and never read them."""

import socket
from contextlib import ExitStack
from typing import Any

from fansrec.serving.http.unread_answers import FRESH_S, UnreadAnswers
from serving.http.test_protocol import Limits, running
from serving.service import until

MIB = 2**20
ANSWER, LIMIT, CLIENTS = 30 * MIB, 100 * MIB, 40


class Reader:
    """A connection as `UnreadAnswers` sees it."""

    def __init__(self, unsent: int) -> None:
        self.unsent, self.open = unsent, True

    def unsent_bytes(self) -> int:
        return self.unsent

    def disconnect(self) -> None:
        self.open = False


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_slowest_reader_is_disconnected() -> None:
    clock, closed = Clock(), []
    answers = UnreadAnswers(300, clock, lambda: closed.append(1))
    never, slow, quick = Reader(100), Reader(100), Reader(100)
    for reader in (slow, never, quick):
        answers.add(reader)
    clock.now = 5
    slow.unsent, quick.unsent = 90, 10
    answers.add(fresh := Reader(100))
    answers.make_room()
    assert [reader.open for reader in (never, slow, quick, fresh)] == [False, True, True, True]
    assert answers.size == 300 and closed == [1]
    clock.now += FRESH_S
    answers.add(Reader(100))
    answers.make_room()
    assert not fresh.open and slow.open and quick.open  # it had its time and has read nothing


def test_oldest_of_fresh_readers_is_disconnected_first_and_one_always_stays() -> None:
    clock = Clock()
    answers, readers = UnreadAnswers(100, clock), [Reader(1000) for _ in range(5)]
    for clock.now, reader in enumerate(readers):
        clock.now /= 100
        answers.add(reader)
        answers.make_room()
    assert [reader.open for reader in readers] == [False] * 4 + [True] and answers.size == 1000
    answers.remove(readers[-1])
    assert answers.size == 0


LARGE = b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n"  # answered with 30 MiB


def request_on_new_connection(service: Any, request: bytes) -> socket.socket:
    client = socket.create_connection(service.address, timeout=60)
    client.sendall(request)
    return client


def read_bytes(client: socket.socket, count: int) -> int:
    """Read until `count` bytes have arrived or the connection ends; return the number of bytes."""
    buffer, read = bytearray(MIB), 0
    while read < count and (size := client.recv_into(buffer)):
        read += size
    return read


def test_unread_answers_are_limited_and_other_clients_are_answered() -> None:
    limits = Limits(max_connections=100, max_unsent_bytes=LIMIT, header_timeout_s=60, write_timeout_s=600)
    with running(limits) as service, ExitStack() as held:
        unread, state = service.server.config.http.unread, service.server.server_state
        for number in range(CLIENTS):
            held.enter_context(request_on_new_connection(service, LARGE))
            assert until(lambda: state.total_requests > number), number  # noqa: B023
            assert until(lambda: unread.size <= LIMIT)
        assert unread.size > 0 and until(lambda: len(state.connections) <= LIMIT // ANSWER + 1)
        with request_on_new_connection(service, LARGE) as client:
            assert read_bytes(client, ANSWER) >= ANSWER


def test_next_request_waits_until_the_previous_answer_is_read() -> None:
    with running(Limits(header_timeout_s=60, write_timeout_s=600)) as service:
        state = service.server.server_state
        with request_on_new_connection(service, LARGE * 2) as client:
            assert until(lambda: state.total_requests == 1 and not state.tasks)  # the second has not begun
            assert read_bytes(client, 2 * ANSWER) >= 2 * ANSWER
