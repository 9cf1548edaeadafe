"""Waiting for an answer, with a fake queue and a client that can leave."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fansrec.serving import waiting
from fansrec.serving.http.problems import Problem
from fansrec.serving.processes.jobs import Job
from fansrec.serving.processes.queue import QueuedRequest
from serving.service import DEADLINE_S


class Client:
    """What ASGI's `receive` reports: nothing until the client leaves."""

    def __init__(self) -> None:
        self.left, self.watched = asyncio.Event(), asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        self.watched.set()
        await self.left.wait()
        return {"type": "http.disconnect"}


def wait(
    client: Client, timeout: float = DEADLINE_S
) -> tuple[QueuedRequest, "asyncio.Task[bytes]", list[QueuedRequest]]:
    loop, now, cancelled = asyncio.get_running_loop(), time.monotonic(), cast(list[QueuedRequest], [])
    queued = QueuedRequest(Job(0, "m", [], 10, {}, now, now + timeout), 10, loop.create_future())
    dispatcher = cast(Any, SimpleNamespace(loop=loop, cancel=cancelled.append))
    return queued, loop.create_task(waiting.wait_for_answer(dispatcher, queued, client.receive)), cancelled


def run(test: Any) -> None:
    asyncio.run(asyncio.wait_for(test(), DEADLINE_S))


def test_request_whose_client_leaves_is_dropped_from_the_queue() -> None:
    async def test() -> None:
        client = Client()
        queued, answer, cancelled = wait(client)
        client.left.set()
        with pytest.raises(asyncio.CancelledError):
            await answer
        assert queued.answer.cancelled() and cancelled == [queued]

    run(test)


def test_request_that_a_worker_has_is_finished_although_its_client_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "WATCH_AFTER_S", 0.0)

    async def test() -> None:
        client = Client()
        queued, answer, _ = wait(client)
        queued.started = time.monotonic()
        client.left.set()
        await asyncio.sleep(0.01)
        queued.answer.set_result(b"ok")
        assert await answer == b"ok" and not client.watched.is_set()

    run(test)


def test_request_that_is_answered_soon_is_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "WATCH_AFTER_S", DEADLINE_S)

    async def test() -> None:
        client = Client()
        queued, answer, _ = wait(client)
        await asyncio.sleep(0.01)
        queued.answer.set_result(b"ok")
        assert await answer == b"ok" and not client.watched.is_set()

    run(test)


@pytest.mark.parametrize("watch_after", [0.0, 0.01, 60.0])
def test_deadline_ends_the_wait(watch_after: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "WATCH_AFTER_S", watch_after)

    async def test() -> None:
        _, answer, cancelled = wait(Client(), timeout=0.03)
        with pytest.raises(Problem) as raised:
            await answer
        assert raised.value.status == 504 and len(cancelled) == 1

    run(test)
