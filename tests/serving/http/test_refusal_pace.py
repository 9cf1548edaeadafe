"""Refusals wait when there are many of them, and the connections that they wait on behave like busy ones."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from fansrec.serving.http.refusal_pace import MAX_DELAY_S, PER_SECOND, RefusalPace
from fansrec.serving.processes.load_limits import OVERLOAD
from serving.in_process import Client, Setup, encode, run

REFUSED = 'fans_http_requests_total{method="POST",route="/v1/continue",status="429"}'
REQUESTS = {"plain": encode(), "other": encode({"lists": [["a"]]}, "Origin: http://localhost")}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_few_refusals_are_sent_at_once() -> None:
    clock = Clock()
    pace = RefusalPace(clock)
    for _ in range(5000):
        assert pace.delay() == 0
        clock.now += 1 / PER_SECOND


def test_many_refusals_are_sent_as_fast_as_allowed_and_none_waits_longer_than_a_second() -> None:
    clock = Clock()
    pace = RefusalPace(clock)
    moments = [clock.now + pace.delay() for _ in range(PER_SECOND // 2)]
    assert moments == sorted(moments) and moments[-1] == pytest.approx(clock.now + 0.5, abs=0.01)
    assert max(pace.delay() for _ in range(10 * PER_SECOND)) == pytest.approx(MAX_DELAY_S)
    clock.now += 2 * MAX_DELAY_S
    assert pace.delay() == 0


def overload(client: Client, delay: float) -> None:
    pace: Any = SimpleNamespace(delay=lambda: delay)
    client.setup.server.config.app.pace = pace  # type: ignore[union-attr]
    client.setup.service.dispatcher.load.refusal = lambda tokens=0: OVERLOAD  # type: ignore[method-assign]
    client.protocol.pace, client.protocol.overloaded = pace, lambda: OVERLOAD


async def until_refused(client: Client) -> None:
    """Wait until the refusal waits, or has been sent already."""
    while not (client.protocol.busy() or client.setup.counted(REFUSED)):
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_refusal_that_waits_is_sent_and_the_connection_goes_on(kind: str) -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        usual = setup.service.dispatcher.load.refusal
        overload(client, 0.05)
        client.writer.write(REQUESTS[kind])
        await until_refused(client)
        client.protocol.overloaded, setup.service.dispatcher.load.refusal = usual, usual  # type: ignore[method-assign]
        client.writer.write(encode())  # it waits behind the refusal
        answer = await client.receive()
        assert answer.status == 429 and ("retry-after", "1") in answer.headers
        while len(setup.channel.sent) < 2:
            await asyncio.sleep(0.001)
        setup.channel.reply()
        assert (await client.receive()).status == 200
        await asyncio.sleep(0)
        assert setup.counted(REFUSED) == 1

    run(test)


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_client_may_leave_while_its_refusal_waits(kind: str) -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        overload(client, 0.05)
        client.writer.write(REQUESTS[kind])
        await until_refused(client)
        client.writer.close()
        while setup.server.server_state.connections:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.1)  # the moment of the refusal passes
        del setup.service.dispatcher.load.refusal
        assert (await (await setup.connect()).ask(encode())).status == 200

    run(test)


def test_a_service_that_stops_sends_refusals_that_wait() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        overload(client, 0.05)
        client.writer.write(encode())
        await until_refused(client)
        client.protocol.shutdown()
        assert (await client.receive()).status == 429
        assert await client.reader.read() == b""

    run(test)
