"""Validation of large bodies in another process: the same fields and the same problems, whatever happens to it."""

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic_core import from_json, to_json

from fansrec.serving.http.problems import Problem
from fansrec.serving.processes.jobs import CONTINUE, Job, pack_jobs, unpack_jobs
from fansrec.serving.processes.load_limits import Budget, LoadLimits
from fansrec.serving.processes.queue import Queue
from fansrec.serving.settings import Settings
from fansrec.serving.validation import validator as module
from fansrec.serving.validation.parsers import EVENTS, ITEMS, LISTS, make_parsers
from fansrec.serving.validation.validator import ValidationProcess, Validator
from serving.service import DEADLINE_S, Running

Work = Callable[[Validator], Awaitable[Any]]
LONG = "é" * 300
BODIES: dict[str, Any] = {
    CONTINUE: {"lists": [[LONG, 7]] * 200, "k": 3, "exclude": ["a"], "client": "u", "fallback": "popular"},
    LISTS: {"lists": [{"id": f"p{number}", "items": [LONG, 7], "title": "x"} for number in range(100)]},
    ITEMS: {"items": [{"id": number, "name": LONG, "date": "2026-11-01"} for number in range(100)]},
    EVENTS: {"events": [{"type": "shown", "model": LONG[:9], "count": 2, "client": LONG[:90]}] * 300, "batch": "b"},
}
INVALID: dict[str, Any] = {
    CONTINUE: {"lists": [[LONG]] * 200 + [[True]]},
    LISTS: {"lists": [{"id": "p", "items": [LONG] * 100 + [""]}]},
    ITEMS: {"items": [{"id": 1, "name": LONG}] * 100 + [{"id": 2, "date": "yesterday"}]},
    EVENTS: {"events": [{"type": "shown", "model": "m" * 60}] * 300},
}


def body_of(request: Any) -> bytes:
    return json.dumps(request, ensure_ascii=False).encode()


def run(work: Work, budget: Budget | None = None, **limits: Any) -> Any:
    async def check() -> Any:
        validator = Validator(settings(**limits), budget or Budget(1 << 30))
        try:
            async with asyncio.timeout(DEADLINE_S):
                return await work(validator)
        finally:
            await validator.close()

    return asyncio.run(check())


def settings(**limits: Any) -> Settings:
    return Settings.model_validate({"models": ["run"], "hang_s": DEADLINE_S} | limits)


def running(validator: Validator) -> ValidationProcess:
    assert validator._process is not None
    return validator._process


async def process_of(validator: Validator) -> int:
    """Start the process, and return its id."""
    await validator.parse(EVENTS, body_of(BODIES[EVENTS]))
    return running(validator)._process.pid


@pytest.mark.parametrize("kind", BODIES)
def test_large_body_has_the_fields_that_the_front_process_would_parse(kind: str) -> None:
    body, parser = body_of(BODIES[kind]), make_parsers(settings())[kind]
    assert len(body) > parser.large
    large, *fields = run(lambda validator: validator.parse(kind, body))
    here, *expected = parser(body)
    assert large == (here if isinstance(here, bytes) else to_json(here))
    assert json.loads(json.dumps(fields)) == json.loads(json.dumps(expected))


@pytest.mark.parametrize("kind", INVALID)
def test_large_body_that_is_not_valid_has_the_same_problem(kind: str) -> None:
    body, parser = body_of(INVALID[kind]), make_parsers(settings())[kind]
    assert len(body) > parser.large
    with pytest.raises(Problem) as expected:
        parser(body)
    with pytest.raises(Problem) as found:
        run(lambda validator: validator.parse(kind, body))
    assert found.value.status == expected.value.status == 422
    assert found.value.body("id") == expected.value.body("id")


def test_limits_of_the_service_hold_for_large_bodies() -> None:
    with pytest.raises(Problem, match="correct the fields"):
        run(lambda validator: validator.parse(CONTINUE, body_of(BODIES[CONTINUE])), max_lists=199)
    with pytest.raises(Problem, match="are 600 items, more than 599"):
        run(lambda validator: validator.parse(CONTINUE, body_of(BODIES[CONTINUE])), max_answer_items=599)


def test_small_body_starts_no_process() -> None:
    async def work(validator: Validator) -> None:
        assert (await validator.parse(CONTINUE, b'{"lists": [["a"]]}')).lists == [["a"]]
        assert validator._process is None

    run(work)


def test_replies_go_to_the_requests_that_they_belong_to() -> None:
    requests = [{"lists": [[LONG, number]] * 150, "k": number} for number in range(1, 9)]

    async def work(validator: Validator) -> None:
        found = await asyncio.gather(*(validator.parse(CONTINUE, body_of(request)) for request in requests))
        assert [(from_json(fields.lists), fields.k) for fields in found] == [(r["lists"], r["k"]) for r in requests]

    run(work)


def test_body_is_validated_by_another_process_if_the_first_one_is_killed() -> None:
    async def work(validator: Validator) -> None:
        pid = await process_of(validator)
        os.kill(pid, signal.SIGSTOP)
        waiting = asyncio.ensure_future(validator.parse(LISTS, body_of(BODIES[LISTS])))
        while not running(validator)._waiting:
            await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        assert (await waiting).total == 100
        assert running(validator)._process.pid != pid

    run(work)


def test_hung_process_is_replaced() -> None:
    async def work(validator: Validator) -> None:
        pid = await process_of(validator)
        running(validator)._hang_s = 0.1
        os.kill(pid, signal.SIGSTOP)
        assert (await validator.parse(LISTS, body_of(BODIES[LISTS]))).total == 100
        assert running(validator)._process.pid != pid

    run(work)


def test_body_that_kills_every_process_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    start = module.start_process

    async def start_and_kill(settings: Settings) -> ValidationProcess:
        process = await start(settings)
        process._process.kill()
        return process

    monkeypatch.setattr(module, "start_process", start_and_kill)
    with pytest.raises(Problem, match="failed with this one") as found:
        run(lambda validator: validator.parse(LISTS, body_of(BODIES[LISTS])))
    assert found.value.status == 500


def test_bodies_that_wait_for_the_process_are_limited() -> None:
    with pytest.raises(Problem) as found:
        run(lambda validator: validator.parse(LISTS, body_of(BODIES[LISTS])), Budget(1000))
    assert found.value.status == 429


def test_process_ends_with_the_validator() -> None:
    pids: list[int] = []

    async def work(validator: Validator) -> None:
        pids.append(await process_of(validator))

    run(work)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_large_request_is_answered_as_a_small_one(service: Running) -> None:
    small = service.ask([["i1", "i2"]], k=3).json()["answers"][0]["positions"]
    large = service.ask([["i1", "i2", LONG]] * 200, k=3)
    assert len(large.request.content) > make_parsers(settings())[CONTINUE].large
    answers = large.json()["answers"]
    assert len(answers) == 200
    assert all(answer["unknown"] == [LONG] for answer in answers)
    assert all([one["item"] for one in answer["positions"]] == [one["item"] for one in small] for answer in answers)


def test_lists_that_are_json_travel_beside_the_others() -> None:
    lists: list[Any] = [[["a"]], b'[["b",2]]', [[3]], b"[[]]"]
    jobs = [Job(number, "fans", some, 10, {}, 0.0, 1.0) for number, some in enumerate(lists)]
    packed, content = pack_jobs(jobs)
    found = unpack_jobs(from_json(to_json(packed)), content)
    assert [job.lists for job in found] == [[["a"]], [["b", 2]], [[3]], [[]]]
    assert [job.id for job in found] == [0, 1, 2, 3]


def test_large_body_is_not_waited_for_after_its_deadline() -> None:
    async def stopped(validator: Validator) -> None:
        await validator.parse(EVENTS, body_of(BODIES[EVENTS]))
        os.kill(running(validator)._process.pid, signal.SIGSTOP)
        with pytest.raises(Problem) as late:
            await validator.parse(EVENTS, body_of(BODIES[EVENTS]), 0.05)
        assert late.value.status == 504
        os.kill(running(validator)._process.pid, signal.SIGCONT)
        await validator.parse(EVENTS, body_of(BODIES[EVENTS]))

    run(stopped)


def test_largest_unpacked_body_has_room_on_an_idle_service() -> None:
    limits = settings(max_unpacked_bytes=1 << 27)
    LoadLimits(limits, Queue(1, 1)).body_bytes.reserve(1 << 27).__enter__()
