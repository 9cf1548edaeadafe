"""Clients that ask for large answers and never read them."""

import socket
from contextlib import ExitStack
from typing import Any

from fansrec.serving.http.unsent import FRESH_S, Unsent
from serving.http.test_protocol import Limits, running
from serving.service import until

MIB = 2**20
ANSWER, BUDGET, CLIENTS = 30 * MIB, 100 * MIB, 40


class Reader:
    """A connection as the budget sees it."""

    def __init__(self, unsent: int) -> None:
        self.unsent, self.open = unsent, True

    def unsent_bytes(self) -> int:
        return self.unsent

    def cut_off(self) -> None:
        self.open = False


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_reader_that_reads_slowest_is_cut_off() -> None:
    clock, closed = Clock(), []
    budget = Unsent(300, clock, lambda: closed.append(1))
    never, slow, quick = Reader(100), Reader(100), Reader(100)
    for reader in (slow, never, quick):
        budget.add(reader)
    clock.now = 5
    slow.unsent, quick.unsent = 90, 10
    budget.add(fresh := Reader(100))
    budget.make_room()
    assert [reader.open for reader in (never, slow, quick, fresh)] == [False, True, True, True]
    assert budget.size == 300 and closed == [1]
    clock.now += FRESH_S
    budget.add(Reader(100))
    budget.make_room()
    assert not fresh.open and slow.open and quick.open  # it has had its time, and has read nothing


def test_of_fresh_readers_the_oldest_is_cut_off_first_and_one_always_stays() -> None:
    clock = Clock()
    budget, readers = Unsent(100, clock), [Reader(1000) for _ in range(5)]
    for clock.now, reader in enumerate(readers):
        clock.now /= 100
        budget.add(reader)
        budget.make_room()
    assert [reader.open for reader in readers] == [False] * 4 + [True] and budget.size == 1000
    budget.remove(readers[-1])
    assert budget.size == 0


LARGE = b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n"  # answered with 30 MiB


def asking(service: Any, request: bytes) -> socket.socket:
    client = socket.create_connection(service.address, timeout=60)
    client.sendall(request)
    return client


def read_bytes(client: socket.socket, count: int) -> int:
    """Read until there were `count` bytes or the connection has ended; how many there were."""
    buffer, read = bytearray(MIB), 0
    while read < count and (got := client.recv_into(buffer)):
        read += got
    return read


def test_answers_that_nobody_reads_are_bounded_and_others_are_answered() -> None:
    limits = Limits(max_connections=100, max_unsent_bytes=BUDGET, header_timeout_s=60, write_timeout_s=600)
    with running(limits) as service, ExitStack() as held:
        unsent, state = service.server.config.http.unsent, service.server.server_state
        for number in range(CLIENTS):
            held.enter_context(asking(service, LARGE))
            assert until(lambda: state.total_requests > number), number  # noqa: B023
            assert until(lambda: unsent.size <= BUDGET)
        assert unsent.size > 0 and until(lambda: len(state.connections) <= BUDGET // ANSWER + 1)
        with asking(service, LARGE) as client:
            assert read_bytes(client, ANSWER) >= ANSWER


def test_next_request_waits_until_the_answer_before_it_is_read() -> None:
    with running(Limits(header_timeout_s=60, write_timeout_s=600)) as service:
        state = service.server.server_state
        with asking(service, LARGE * 2) as client:
            assert until(lambda: state.total_requests == 1 and not state.tasks)  # the second has not begun
            assert read_bytes(client, 2 * ANSWER) >= 2 * ANSWER
