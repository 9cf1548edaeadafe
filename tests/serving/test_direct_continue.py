"""Requests whose head is known: they are answered without the parser, and as the parser's requests are."""

import asyncio
import gc
import gzip
import json
import weakref
from pathlib import Path
from typing import Any

import pytest

from fansrec.serving.http import middleware
from fansrec.serving.http.keys import new_key, remove_key
from fansrec.serving.processes.jobs import BUG
from fansrec.serving.processes.load_limits import OVERLOAD
from serving.in_process import BODY, Client, Setup, encode, run


def test_the_second_request_with_a_head_is_direct_and_gets_an_equal_answer() -> None:
    async def test(setup: Setup, client: Client) -> None:
        first = await client.ask(encode())
        assert not client.is_direct
        second = await client.ask(encode())
        assert client.is_direct and first.but_ids == second.but_ids
        assert dict(first.headers)["x-request-id"] != dict(second.headers)["x-request-id"]
        other = await client.ask(encode({"lists": [["c"]], "k": 5}))
        assert client.is_direct and other.status == 200
        assert [job[2:4] for sent in setup.channel.sent for job in sent["jobs"]][1:] == [
            ([["a", "b"]], 2),
            ([["c"]], 5),
        ]
        await asyncio.sleep(0)
        assert setup.counted("fans_http_requests_total") == 3

    run(test)


def test_another_connection_knows_the_head_too() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        other = await setup.connect()
        assert (await other.ask(encode())).status == 200 and other.is_direct

    run(test)


def test_traces_and_clients_of_proxies_differ_between_requests_with_a_known_head() -> None:
    async def test(setup: Setup, client: Client) -> None:
        parent = "00-%s-b7ad6b7169203331-01"
        for number, direct in ((1, False), (2, True)):
            trace = f"{number}af7651916cd43dd8448eb211c80319c"
            names = "X-Request-Id: mine-%d", "X-Forwarded-For: 10.0.0.%d, 10.1.1.1"
            answer = await client.ask(
                encode(BODY, *(name % number for name in names), f"traceparent: {parent % trace}")
            )
            headers = dict(answer.headers)
            assert client.is_direct == direct and headers["x-request-id"] == f"mine-{number}"
            assert headers["traceparent"].startswith(f"00-{trace}-") and headers["traceparent"].endswith("-01")

    run(test)


GZIPPED = encode(gzip.compress(json.dumps(BODY).encode()), "Content-Encoding: gzip")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (encode(BODY, "Origin: http://localhost"), 200),
        (encode(BODY, "tracestate: a=b"), 200),
        (encode(BODY, "X-Request-Id:  mine"), 200),
        (encode(BODY, "Connection: close"), 200),
        (encode(BODY, version="1.0"), 200),
        (encode(BODY, "Expect: 100-continue"), 200),
        (GZIPPED, 200),
        (encode(BODY, "Fans-Timeout-Ms: 0"), 400),
        (encode(BODY, "Host: localhost"), 400),
        (encode().replace(b"Host: localhost", b"Host: example.org"), 421),
        (encode().replace(b"application/json", b"text/plain"), 415),
    ],
    ids=["origin", "state", "spaces", "close", "1.0", "expect", "gzip", "timeout", "two hosts", "host", "type"],
)
def test_heads_with_anything_special_are_not_known(request_: bytes, status: int) -> None:
    async def test(setup: Setup, client: Client) -> None:
        answers = []
        for _ in range(2):
            other = await setup.connect()
            if status == 200:
                await other.send(request_)
                setup.channel.reply()
            else:
                other.writer.write(request_)
            answer = await other.receive()
            answers.append(await other.receive() if answer.status == 100 else answer)
            assert not other.is_direct
        assert [answer.status for answer in answers] == [status] * 2
        assert answers[0].but_ids == answers[1].but_ids

    run(test)


def test_answers_to_pages_of_other_sites_vary() -> None:
    async def test(setup: Setup, client: Client) -> None:
        first, second = await client.ask(encode()), await client.ask(encode())
        assert client.is_direct and first.but_ids == second.but_ids and ("vary", "Origin") in second.headers

    run(test, allow_origins=["http://example.org"])


def test_no_timer_of_an_idle_connection_runs_during_a_request() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        assert client.protocol.timeout_keep_alive_task is not None
        other = await setup.connect()
        for one in (client, other):
            await one.send(encode())
            assert one.is_direct and one.protocol.timeout_keep_alive_task is None
            assert not one.protocol.header_timer.running
            setup.channel.reply()
            await one.receive()

    run(test)


@pytest.mark.parametrize("leaves", [False, True])
def test_a_connection_keeps_nothing_of_an_answered_request(leaves: bool) -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        await client.send(encode())
        (queued,) = map(weakref.ref, setup.worker.batch.values())
        protocol = weakref.ref(client.protocol)
        gc.disable()
        try:
            if leaves:
                client.writer.close()
                client.protocol = None
                while protocol() is not None:
                    await asyncio.sleep(0.001)
            setup.channel.reply()
            while queued() is not None:
                await asyncio.sleep(0.001)
        finally:
            gc.enable()

    run(test)


@pytest.mark.parametrize(
    "body",
    [b"{", b"", b'{"lists": 5}', {"lists": []}, BODY | {"model": "none"}, BODY | {"k": 0}, BODY | {"more": 1}],
    ids=["not JSON", "empty", "no list", "no lists", "unknown model", "k", "field"],
)
def test_problems_are_the_same(body: object) -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        direct = await client.refused(encode(body))
        assert client.is_direct and direct.status >= 400
        usual = await (await setup.connect()).refused(encode(body, "X-Other: 1"))
        assert direct.but_ids == usual.but_ids
        assert (await client.ask(encode())).status == 200 and client.is_direct  # the connection goes on

    run(test)


@pytest.mark.parametrize(("error", "status"), [("UnknownItems", 422), (BUG, 500), ("late", 504)])
def test_errors_of_workers_are_the_same(error: str, status: int) -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        direct = await client.ask(encode(), error)
        assert client.is_direct and direct.status == status
        usual = await (await setup.connect()).ask(encode(BODY, "X-Other: 1"), error)
        assert direct.but_ids == usual.but_ids

    run(test)


def test_a_body_above_the_limit_goes_the_usual_way() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        answer = await client.refused(encode({"lists": [["a" * 200]]}))
        assert answer.status == 413 and not client.is_direct

    run(test, max_body_bytes=100)


def test_requests_behind_a_direct_one_are_answered_after_it() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        await client.send(encode({"lists": [["first"]]}))
        client.writer.write(encode({"lists": [["second"]]}) + encode({"lists": 3}))
        await asyncio.sleep(0.05)
        assert client.is_direct and setup.channel.sent[-1]["jobs"][0][2] == [["first"]]
        setup.channel.reply()
        assert (await client.receive()).status == 200
        while setup.channel.sent[-1]["jobs"][0][2] != [["second"]]:
            await asyncio.sleep(0.001)
        setup.channel.reply()
        assert [(await client.receive()).status, (await client.receive()).status] == [200, 422]

    run(test)


def test_bytes_that_are_not_http_behind_a_direct_request_end_the_connection_after_its_answer() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        await client.send(encode())
        client.writer.write(b"\0\0\0 nonsense\r\n\r\n")
        while not client.protocol.ignores_input:
            await asyncio.sleep(0.001)
        setup.channel.reply()
        answer = await client.receive()
        assert answer.status == 200 and ("connection", "close") in answer.headers
        assert await client.reader.read() == b""

    run(test)


def test_a_client_that_leaves_is_not_waited_for() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        busy = await setup.connect()
        await busy.send(encode())
        client.writer.write(encode())  # it waits in the queue
        while not len(setup.service.dispatcher.queue):
            await asyncio.sleep(0.001)
        client.writer.close()
        while len(setup.service.dispatcher.queue):
            await asyncio.sleep(0.001)
        await asyncio.sleep(0)
        assert setup.counted('fans_http_requests_total{method="POST",route="/v1/continue",status="499"}') == 1
        setup.channel.reply()
        assert (await busy.receive()).status == 200

    run(test)


def test_the_deadline_of_a_request_ends_its_wait() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        short = encode(BODY, "Fans-Timeout-Ms: 1")
        assert (await client.refused(short)).status == 504 and not client.is_direct
        other = await setup.connect()
        queue = setup.service.dispatcher.queue
        answer = await other.refused(short)  # the worker still has the one before
        assert other.is_direct and answer.status == 504 and answer.problem["type"] == "urn:fansrec:deadline"
        assert not queue  # it no longer waits for the worker
        setup.channel.reply()
        answer = await other.refused(short)  # the worker has it
        assert other.is_direct and answer.status == 504
        job = setup.channel.sent[-1]["jobs"][0]
        assert job.deadline - job.since == pytest.approx(0.001)

    run(test, timeout_ms=3_600_000)


def test_a_service_that_stops_refuses_requests_that_it_ends() -> None:
    """The server cancels what it waits for when its time is over."""

    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        await client.send(encode())
        (task,) = setup.server.server_state.tasks
        client.protocol.shutdown()
        task.cancel("the time is over")
        answer = await client.receive()
        assert answer.status == 503 and answer.problem["type"] == "urn:fansrec:stopping"
        assert ("connection", "close") in answer.headers and await client.reader.read() == b""
        assert not setup.server.server_state.tasks

    run(test)


def test_requests_go_the_usual_way_while_the_service_is_about_to_stop() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        setup.service.draining = True
        answer = await client.ask(encode())
        assert not client.is_direct and ("connection", "close") in answer.headers

    run(test)


def test_a_queue_without_room_is_an_overload() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        setup.service.dispatcher.load.refusal = lambda tokens=0: OVERLOAD if tokens else None  # type: ignore[method-assign]
        answer = await client.refused(encode())
        assert client.is_direct and answer.status == 429 and ("retry-after", "1") in answer.headers

    run(test)


def test_nothing_of_a_request_is_read_at_overload() -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.ask(encode().replace(b"continue", b"continue?x=1"))
        client.protocol.overloaded = lambda: OVERLOAD
        setup.service.dispatcher.load.refusal = lambda tokens=0: OVERLOAD  # type: ignore[method-assign]
        answer = await client.refused(encode(b"{").replace(b"continue", b"continue?x=1"))
        assert not client.is_direct and answer.status == 429

    run(test)


def test_a_fault_of_the_service_is_a_problem_and_logged_with_the_id(caplog: pytest.LogCaptureFixture) -> None:
    async def test(setup: Setup, client: Client) -> None:
        await client.learn()
        setup.service.dispatcher.submit = None  # type: ignore[method-assign,assignment]
        answer = await client.refused(encode())
        assert client.is_direct and answer.problem["type"] == "urn:fansrec:internal"
        (record,) = (record for record in caplog.records if record.getMessage() == "a request failed")
        assert record.exc_info and record.fields["request_id"] == answer.problem["request_id"]  # type: ignore[attr-defined]

    run(test)


def test_a_removed_key_no_longer_opens_a_known_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "keys"
    key, _ = new_key(file, "web", "use"), new_key(file, "other", "use")

    async def test(setup: Setup, client: Client) -> None:
        request = encode(BODY, f"Authorization: Bearer {key}")
        assert (await client.ask(request)).status == 200
        recorded: list[Any] = []
        monkeypatch.setattr(middleware, "log_access", lambda *seen: recorded.append(seen[4]))
        assert (await client.ask(request)).status == 200 and client.is_direct
        await asyncio.sleep(0)
        assert recorded == ["web"]
        remove_key(file, "web")
        assert setup.service.keys is not None
        setup.service.keys._checked_at = -1000.0  # the file is looked at again
        answer = await client.refused(request)
        assert client.is_direct and answer.problem["type"] == "urn:fansrec:wrong-key"

    run(test, keys=file)
