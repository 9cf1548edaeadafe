"""Clients that ask for large answers and never read them."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from fansrec.server.edge.unsent import FRESH_S, Unsent
from server.attacks.clients import Target, make_keys
from server.serving import Running, until

MIB = 2**20
BUDGET = 8 * MIB
LISTS, K, CLIENTS = 256, 500, 40


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


@pytest.fixture
def large(songs: Path, tmp_path: Path) -> Target:
    return Target.__new__(Target)


def memory(pid: int) -> int:
    fields = Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()
    return int(fields[0]) * 1024


def test_answers_that_nobody_reads_are_bounded_and_others_are_answered(songs: Path, tmp_path: Path) -> None:
    keys = make_keys(tmp_path / "keys")
    variables = {"MAX_UNSENT_BYTES": BUDGET, "MAX_ANSWER_ITEMS": LISTS * K, "WRITE_TIMEOUT_S": 600}
    variables |= {"QUEUE_MS": 600_000, "TIMEOUT_MS": 600_000, "QUEUE_TOKENS": 2**30}
    settings = {f"FANS_{name}": value for name, value in variables.items()}
    with (
        Running(songs / "run", "--workers", 1, "--keys", tmp_path / "keys", **settings) as running,
        ExitStack() as open_,
    ):
        target = Target(running, keys)
        body = json.dumps({"lists": [["i1"]] * LISTS, "k": K, "keep_seen": True}).encode()
        request = target.head("POST /v1/continue HTTP/1.1", f"Content-Length: {len(body)}") + b"\r\n" + body
        before = memory(running.process.pid)
        admin = {"X-API-Key": keys["admin"]}
        for _ in range(CLIENTS):
            open_.enter_context(target.connect(receive_bytes=4096)).sendall(request)
        done = 'fans_http_requests_total{method="POST",route="/v1/continue",status="200"}'
        assert until(lambda: running.metric_as(admin, done) >= CLIENTS, 300)
        assert target.ask(k=3).status_code == 200
        assert running.metric_as(admin, "fans_cut_off_total") > 0
        assert running.metric_as(admin, "fans_unsent_bytes") <= BUDGET
        assert memory(running.process.pid) - before < 20 * BUDGET
        target.check_unharmed()
