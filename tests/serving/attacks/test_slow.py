"""Clients that hold connections: slow ones, idle ones, and too many."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from serving.attacks.clients import MAX_CONNECTIONS, Target, answers, make_keys
from serving.service import Running, until

SLOW = 300


@contextmanager
def connected(target: Target, count: int, first: bytes) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        clients = []
        for _ in range(count):
            clients.append(stack.enter_context(target.connect()))
            with suppress(ConnectionError):
                clients[-1].sendall(first)
        yield clients


def slow_starts(target: Target) -> dict[str, bytes]:
    head = target.head("POST /v1/continue HTTP/1.1", "Content-Length: 39")
    return {"headers": head[:20], "body": head + b"\r\n{"}


@pytest.mark.parametrize("where", ["headers", "body"])
def test_slow_clients_time_out_and_block_no_other(target: Target, where: str) -> None:
    with connected(target, SLOW, slow_starts(target)[where]) as clients:
        assert target.ask().status_code == 200
        refused = [answers(client) for client in clients]  # each ends when the service closes it
    assert {answer.status for found in refused for answer in found} == {408}
    assert all(len(found) == 1 for found in refused)


def fill(target: Target, limit: int, count: int) -> None:
    """Open more connections than allowed; those above the limit are refused until others are closed."""
    with connected(target, count, b"") as clients:
        beyond = [[answer.status for answer in answers(client)] for client in clients[limit:]]
        assert [503] in beyond and all(found in ([503], []) for found in beyond)  # a reset may overtake an answer
        held = clients[: limit // 2]
        for client in held:
            client.close()
        assert until(lambda: can_ask(target))


def can_ask(target: Target) -> bool:
    with suppress(Exception):
        return bool(target.ask().status_code == 200)
    return False


def test_connections_above_the_limit_are_refused_until_others_close(target: Target) -> None:
    target.running.http.close()  # its connections would count
    target.running.http = type(target.running.http)(base_url=target.running.url, timeout=60)
    fill(target, MAX_CONNECTIONS, MAX_CONNECTIONS + 30)


@pytest.mark.long
def test_eleven_hundred_connections_with_default_limits(songs: Path, tmp_path: Path) -> None:
    keys = make_keys(tmp_path / "keys")
    with Running(songs / "run", "--workers", 1, "--keys", tmp_path / "keys", FANS_HEADER_TIMEOUT_S=60) as running:
        target = Target(running, keys)
        fill(target, 1024, 1100)
        target.check_unharmed()
