"""The dispatcher with fake channels to workers."""

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fansrec.serving.http.problems import Problem
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes import dispatch
from fansrec.serving.processes.dispatch import MAX_FAILURES, Dispatcher, Worker
from fansrec.serving.processes.jobs import Job
from fansrec.serving.processes.load_limits import OVERLOAD
from fansrec.serving.processes.queue import QueuedRequest
from fansrec.serving.settings import read_settings
from serving.service import DEADLINE_S


class FakeChannel:
    """Keeps the messages that are sent; `reply` is what a worker does."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.closed = False
        self.on_message: Callable[[Any, bytes], None]
        self.on_close: Callable[[], None]

    def send(self, message: Any) -> None:
        self.sent.append(message)

    def close(self) -> None:
        """Close like a transport, which calls its protocol later."""
        if not self.closed:
            self.closed = True
            asyncio.get_running_loop().call_soon(lambda: self.on_close())

    def batch(self) -> list[int]:
        return [job[0] for job in self.sent[-1]["jobs"]]

    def reply(self, *ids: int, error: str = "") -> None:
        replies = [[id, 2, 1, 10, error, "why"] for id in ids or self.batch()]
        self.on_message({"kind": "replies", "replies": replies}, b"ok" * len(replies))


class Setup:
    def __init__(self, **flags: object) -> None:
        settings = read_settings({"models": ["m"], "hang_s": 5} | flags, None, {})
        self.metrics = Metrics()
        self.dispatcher = Dispatcher(settings, self.metrics, asyncio.get_running_loop())
        self.lost: list[Worker] = []

    def worker(self, pid: int = 0) -> tuple[Worker, FakeChannel]:
        channel = FakeChannel()
        worker = Worker(channel, pid, self.lost.append)  # type: ignore[arg-type]
        self.dispatcher.add_worker(worker)
        return worker, channel

    def submit(self, tokens: int = 10) -> QueuedRequest:
        now = time.monotonic()
        return self.dispatcher.submit(Job(next(self.dispatcher.ids), "m", [], 10, {}, now, now + 60), tokens)


def run(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @functools.wraps(test)  # so that pytest finds its fixtures
    def wrapped(**fixtures: Any) -> None:
        asyncio.run(asyncio.wait_for(test(**fixtures), DEADLINE_S))  # type: ignore[arg-type]

    return wrapped


@run
async def test_idle_worker_starts_at_once_and_busy_one_gets_the_queue_as_a_batch() -> None:
    setup = Setup()
    _, channel = setup.worker()
    first, second, third = setup.submit(), setup.submit(), setup.submit()
    assert channel.batch() == [first.id]
    channel.reply()
    assert channel.batch() == [second.id, third.id]
    channel.reply()
    assert [await waiting.answer for waiting in (first, second, third)] == [b"ok"] * 3


@run
async def test_requests_of_a_dead_worker_go_to_another_worker_one_by_one() -> None:
    setup = Setup()
    worker, channel = setup.worker()
    first = setup.submit()
    second, third = setup.submit(), setup.submit()
    channel.reply()
    channel.on_close()
    assert setup.lost == [worker]
    _, other = setup.worker()
    assert other.batch() == [second.id]
    other.reply()
    assert other.batch() == [third.id]
    other.reply()
    assert await first.answer == await second.answer == await third.answer == b"ok"
    assert setup.metrics.retried._value.get() == 2


@run
async def test_request_with_which_workers_die_repeatedly_is_given_up() -> None:
    setup = Setup()
    failing, harmless = setup.submit(), setup.submit()
    for _ in range(MAX_FAILURES):
        _, channel = setup.worker()
        channel.on_close()
        assert failing.id in channel.batch()
    with pytest.raises(Problem, match="workers died"):
        await failing.answer
    _, channel = setup.worker()
    assert channel.batch() == [harmless.id]
    channel.reply()
    assert await harmless.answer == b"ok"


@run
async def test_retiring_worker_finishes_its_batch_and_gets_no_other() -> None:
    setup = Setup()
    worker, channel = setup.worker()
    first = setup.submit()
    setup.dispatcher.retire_worker(worker)
    assert not channel.closed
    second = setup.submit()
    channel.reply()
    assert channel.closed and await first.answer == b"ok" and not second.answer.done()
    idle, idle_channel = setup.worker()
    idle_channel.reply()  # to the second request, which it got at once
    setup.dispatcher.retire_worker(idle)
    assert idle_channel.closed
    third = setup.submit()
    assert len(idle_channel.sent) == 1 and not third.answer.done()


@run
async def test_full_queue_refuses_until_there_is_room() -> None:
    setup = Setup(queue_requests=2)
    waiting = [setup.submit(), setup.submit()]
    with pytest.raises(Problem) as refused:
        setup.submit()
    assert refused.value.status == 429
    assert OVERLOAD.__traceback__ is None  # if it were raised, it would keep refused requests in memory
    setup.dispatcher.cancel(waiting[0])
    setup.submit()


@run
async def test_queue_that_was_full_must_empty_a_little_first() -> None:
    setup = Setup(queue_requests=8)
    waiting = [setup.submit() for _ in range(8)]
    assert setup.dispatcher.load.refusal()
    setup.dispatcher.cancel(waiting[0])
    assert setup.dispatcher.load.refusal()  # seven of eight
    setup.dispatcher.cancel(waiting[1])
    assert not setup.dispatcher.load.refusal()
    setup.submit()
    assert not setup.dispatcher.load.refusal()  # seven again, but the queue was not full since


@run
async def test_requests_are_refused_when_the_expected_wait_is_too_long() -> None:
    setup = Setup(queue_ms=100, workers=1)
    _, channel = setup.worker()
    first = setup.submit(tokens=10)
    next(iter(setup.dispatcher._busy)).waiting_since -= 1.9  # about a fifth of a second a token
    channel.reply()
    assert await first.answer == b"ok"
    with_worker, waiting = setup.submit(tokens=1), setup.submit(tokens=1)
    assert not waiting.answer.done() and not setup.dispatcher.load.refusal()
    also_waiting = setup.submit(tokens=1)  # the queue may take twice `queue_ms` at first
    with pytest.raises(Problem, match="as many requests"):
        setup.submit(tokens=1)
    for request in (with_worker, waiting, also_waiting):
        assert setup.dispatcher.load.refusal()
        setup.dispatcher.cancel(request)
    assert not setup.dispatcher.load.refusal()


@run
async def test_requests_are_refused_when_the_delay_is_too_long_although_the_pace_promises_less() -> None:
    setup = Setup(queue_ms=100, workers=1, batch_tokens=10)
    _, channel = setup.worker()
    waiting = [setup.submit() for _ in range(3)]
    assert not setup.dispatcher.load.refusal()
    waiting[1].queued -= 1.0
    channel.reply()
    assert channel.batch() == [waiting[1].id] and setup.dispatcher.load.refusal()
    channel.reply()
    channel.reply()
    assert not setup.dispatcher.load.refusal()  # the queue is empty


@run
async def test_delay_of_requests_of_a_lost_worker_is_not_that_of_an_overload() -> None:
    setup = Setup(queue_ms=100, workers=1)
    _, channel = setup.worker()
    setup.submit().queued -= 20.0
    channel.on_close()
    _, other = setup.worker()
    setup.submit()
    assert len(other.batch()) == 1 and not setup.dispatcher.load.refusal()


@run
async def test_cancelled_request_is_never_sent() -> None:
    setup = Setup()
    cancelled, other = setup.submit(), setup.submit()
    setup.dispatcher.cancel(cancelled)
    _, channel = setup.worker()
    assert channel.batch() == [other.id]


@run
async def test_errors_of_a_worker_become_problems() -> None:
    setup = Setup()
    _, channel = setup.worker()
    for error, status in (("UnknownItems", 422), ("BadSetting", 422), ("late", 504), ("bug", 500)):
        waiting = setup.submit()
        channel.reply(error=error)
        with pytest.raises(Problem) as raised:
            await waiting.answer
        assert raised.value.status == status


@run
async def test_silent_worker_is_pinged_and_then_killed() -> None:
    setup = Setup(hang_s=5)
    killed: list[int] = []
    original, dispatch.kill = dispatch.kill, killed.append  # type: ignore[assignment]
    try:
        worker, channel = setup.worker(pid=77)
        worker.received_at -= 2
        setup.dispatcher.check_workers()
        assert channel.sent == [{"kind": "ping"}]
        channel.on_message({"kind": "pong"}, b"")
        setup.dispatcher.check_workers()
        assert killed == [] and len(channel.sent) == 1
        waiting = setup.submit()
        worker.waiting_since -= 6
        setup.dispatcher.check_workers()
        assert killed == []  # it has replied since
        worker.received_at -= 6
        setup.dispatcher.check_workers()
        assert killed == [77] and channel.closed and worker.cause == "hung"
        assert not waiting.answer.done()
        await asyncio.sleep(0)
        _, other = setup.worker()
        assert other.batch() == [waiting.id]
        other_worker = next(iter(setup.dispatcher._busy))
        waiting.job = waiting.job._replace(deadline=waiting.job.deadline - 70)
        setup.dispatcher.check_workers()
        assert len(killed) == 2 and other_worker.cause == "hung"  # alive, but all its requests are past their deadlines
    finally:
        dispatch.kill = original
