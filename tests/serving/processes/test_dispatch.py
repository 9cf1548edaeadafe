"""Who answers what, with lines to workers that exist only here."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fansrec.serving.http.problems import Problem
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes import dispatch
from fansrec.serving.processes.dispatch import MOST_TRIES, OVERLOAD, Dispatcher, Worker
from fansrec.serving.processes.queue import Waiting
from fansrec.serving.settings import read_settings
from serving.service import DEADLINE_S


class FakeLine:
    """Keeps what is sent; `reply` and `die` are what a worker does."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.closed = False
        self.heard: Callable[[Any, bytes], None]
        self.gone: Callable[[], None]

    def send(self, message: Any, content: bytes = b"") -> None:
        self.sent.append(message)

    def close(self) -> None:
        """As a transport does it: whoever listens hears of it later."""
        if not self.closed:
            self.closed = True
            asyncio.get_running_loop().call_soon(lambda: self.gone())

    def batch(self) -> list[int]:
        return [job[0] for job in self.sent[-1]["jobs"]]

    def reply(self, *ids: int, error: str = "") -> None:
        replies = [[id, 2, 1, 10, error, "why"] for id in ids or self.batch()]
        self.heard({"kind": "replies", "replies": replies}, b"ok" * len(replies))


class House:
    def __init__(self, **flags: object) -> None:
        settings = read_settings({"models": ["m"], "hang_s": 5} | flags, None, {})
        self.metrics = Metrics()
        self.dispatcher = Dispatcher(settings, self.metrics, asyncio.get_running_loop())
        self.lost: list[Worker] = []

    def worker(self, pid: int = 0) -> tuple[Worker, FakeLine]:
        line = FakeLine()
        worker = Worker(line, pid, self.lost.append)  # type: ignore[arg-type]
        self.dispatcher.welcome(worker)
        return worker, line

    def ask(self, tokens: int = 10) -> Waiting:
        now = time.monotonic()
        return self.dispatcher.ask("m", b"{}", tokens, now, now + 60)


def run(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    def wrapped() -> None:
        asyncio.run(asyncio.wait_for(test(), DEADLINE_S))  # type: ignore[arg-type]

    wrapped.__name__ = test.__name__
    return wrapped


@run
async def test_an_idle_worker_starts_at_once_and_a_busy_one_gets_all_that_came_meanwhile() -> None:
    house = House()
    _, line = house.worker()
    first, second, third = house.ask(), house.ask(), house.ask()
    assert line.batch() == [first.id]
    line.reply()
    assert line.batch() == [second.id, third.id]
    line.reply()
    assert [await waiting.answer for waiting in (first, second, third)] == [b"ok"] * 3


@run
async def test_the_work_of_a_worker_that_dies_goes_to_another_one_by_one() -> None:
    house = House()
    worker, line = house.worker()
    first = house.ask()
    second, third = house.ask(), house.ask()
    line.reply()
    line.gone()
    assert house.lost == [worker]
    _, other = house.worker()
    assert other.batch() == [second.id]
    other.reply()
    assert other.batch() == [third.id]
    other.reply()
    assert await first.answer == await second.answer == await third.answer == b"ok"
    assert house.metrics.retried._value.get() == 2


@run
async def test_a_request_over_which_workers_die_again_and_again_is_given_up_and_harms_no_other() -> None:
    house = House()
    poison, harmless = house.ask(), house.ask()
    for _ in range(MOST_TRIES):
        _, line = house.worker()
        line.gone()
        assert poison.id in line.batch()
    with pytest.raises(Problem, match="workers died"):
        await poison.answer
    _, line = house.worker()
    assert line.batch() == [harmless.id]
    line.reply()
    assert await harmless.answer == b"ok"


@run
async def test_a_retiring_worker_ends_its_batch_and_gets_no_other() -> None:
    house = House()
    worker, line = house.worker()
    first = house.ask()
    house.dispatcher.retire(worker)
    assert not line.closed
    second = house.ask()
    line.reply()
    assert line.closed and await first.answer == b"ok" and not second.answer.done()
    idle, idle_line = house.worker()
    idle_line.reply()  # with the second, which it got at once
    house.dispatcher.retire(idle)
    assert idle_line.closed
    third = house.ask()
    assert len(idle_line.sent) == 1 and not third.answer.done()


@run
async def test_a_full_queue_refuses_but_takes_more_when_there_is_room_again() -> None:
    house = House(queue_requests=2)
    waiting = [house.ask(), house.ask()]
    with pytest.raises(Problem) as refused:
        house.ask()
    assert refused.value.status == 429
    assert OVERLOAD.__traceback__ is None  # raised once, it would keep every refused request in memory
    house.dispatcher.forget(waiting[0])
    house.ask()


@run
async def test_once_full_the_queue_empties_a_little_before_it_takes_more() -> None:
    house = House(queue_requests=8)
    waiting = [house.ask() for _ in range(8)]
    assert house.dispatcher.overloaded()
    house.dispatcher.forget(waiting[0])
    assert house.dispatcher.overloaded()  # seven of eight
    house.dispatcher.forget(waiting[1])
    assert not house.dispatcher.overloaded()
    house.ask()
    assert not house.dispatcher.overloaded()  # seven again, but it was not full since


@run
async def test_a_queue_is_also_full_when_it_takes_too_long() -> None:
    house = House(queue_ms=100, workers=1)
    _, line = house.worker()
    first = house.ask(tokens=10)
    next(iter(house.dispatcher._busy)).asked_at -= 0.9  # about a tenth of a second a token
    line.reply()
    assert await first.answer == b"ok"
    with_worker, waiting = house.ask(tokens=1), house.ask(tokens=1)
    assert not waiting.answer.done() and not house.dispatcher.overloaded()
    also_waiting = house.ask(tokens=1)
    with pytest.raises(Problem, match="as many requests"):
        house.ask(tokens=1)
    for request in (with_worker, waiting, also_waiting):
        house.dispatcher.forget(request)
    assert not house.dispatcher.overloaded()


@run
async def test_what_nobody_waits_for_is_never_sent() -> None:
    house = House()
    forgotten, other = house.ask(), house.ask()
    house.dispatcher.forget(forgotten)
    _, line = house.worker()
    assert line.batch() == [other.id]


@run
async def test_refusals_of_a_worker_become_problems() -> None:
    house = House()
    _, line = house.worker()
    for error, status in (("UnknownItems", 422), ("BadSetting", 422), ("late", 504), ("bug", 500)):
        waiting = house.ask()
        line.reply(error=error)
        with pytest.raises(Problem) as told:
            await waiting.answer
        assert told.value.status == status


@run
async def test_silence_is_followed_by_a_ping_and_then_by_death() -> None:
    house = House(hang_s=5)
    killed: list[int] = []
    original, dispatch.kill = dispatch.kill, killed.append  # type: ignore[assignment]
    try:
        worker, line = house.worker(pid=77)
        worker.heard_at -= 2
        house.dispatcher.look_after()
        assert line.sent == [{"kind": "ping"}]
        line.heard({"kind": "pong"}, b"")
        house.dispatcher.look_after()
        assert killed == [] and len(line.sent) == 1
        waiting = house.ask()
        worker.asked_at -= 6
        house.dispatcher.look_after()
        assert killed == []  # it was heard since
        worker.heard_at -= 6
        house.dispatcher.look_after()
        assert killed == [77] and line.closed and worker.fate == "hung"
        assert not waiting.answer.done()
        await asyncio.sleep(0)
        _, other = house.worker()
        assert other.batch() == [waiting.id]
        other_worker = next(iter(house.dispatcher._busy))
        waiting.deadline -= 70
        house.dispatcher.look_after()
        assert len(killed) == 2 and other_worker.fate == "hung"  # alive, but nobody waits for what it does
    finally:
        dispatch.kill = original
