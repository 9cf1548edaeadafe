"""The service keeps working: processes die, hang, are told to stop, and no request is lost."""

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from serving.service import DEADLINE_S, Running, descendants, until

JSON = {"content-type": "application/json"}
COUNTED = 'fans_http_requests_total{{method="POST",route="/v1/continue",status="{}"}}'
LISTS: list[list[object]] = [["i1", "i2"]]


@contextmanager
def load(service: Running, clients: int = 3) -> Iterator[list[object]]:
    """Clients that never retry, each asking over and over; what they got is in the list, a text where it failed."""
    results: list[object] = []
    stop = threading.Event()

    def ask() -> None:
        with httpx2.Client(base_url=service.url, timeout=DEADLINE_S) as http:
            while not stop.is_set():
                try:
                    response = http.post("/v1/continue", json={"lists": LISTS, "k": 3})
                    results.append(response.status_code)
                except httpx2.HTTPError as error:
                    results.append(repr(error))
                time.sleep(0.002)

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield results
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.fixture(scope="module")
def pair(songs: Path) -> Iterator[Running]:
    """Two workers."""
    with Running(songs / "run", "--workers", 2) as running:
        yield running


@pytest.fixture(scope="module")
def single(songs: Path) -> Iterator[Running]:
    """One worker that may be silent for long, and a short queue."""
    with Running(songs / "run", "--workers", 1, FANS_QUEUE_REQUESTS=2) as running:
        yield running


@pytest.fixture(scope="module")
def impatient(songs: Path) -> Iterator[Running]:
    """One worker that may not be silent for long; a busy machine may make a sound one look like that now and then."""
    with Running(songs / "run", "--workers", 1, FANS_HANG_S=5) as running:
        yield running


def unanswered(service: Running) -> socket.socket:
    """A connection on which a request was sent whose answer nobody reads."""
    body = json.dumps({"lists": LISTS}).encode()
    head = "POST /v1/continue HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    connection = socket.create_connection((urlsplit(service.url).hostname, urlsplit(service.url).port), DEADLINE_S)
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return connection


def only_worker(service: Running) -> int:
    """Return the process of the one worker, as soon as no other one is on its way in or out."""
    assert until(lambda: len(service.workers()) == 1 and service.metric('fans_workers{state="ready"}') == 1)
    return service.workers()[0]


def test_workers_killed_under_load_cost_no_request(pair: Running) -> None:
    service, deaths = pair, pair.metric('fans_worker_deaths_total{cause="died"}')
    with load(service) as results:
        for _ in range(4):
            before = service.workers()
            os.kill(before[0], signal.SIGKILL)
            assert until(lambda: before[0] not in (now := service.workers()) and len(now) == 2)  # noqa: B023
            answered = len(results)
            assert until(lambda: len(results) > answered + 10)  # noqa: B023
        assert until(lambda: service.metric('fans_workers{state="ready"}') == 2)
        assert service.metric('fans_worker_deaths_total{cause="died"}') == deaths + 4
    assert set(results) == {200}


def test_a_worker_lost_before_it_reported_costs_its_place_for_a_moment_only(pair: Running) -> None:
    for _ in range(3):  # each is killed as soon as it is seen, some before they could report
        for worker in pair.workers():
            with suppress(ProcessLookupError):  # one that was listed in the last round
                os.kill(worker, signal.SIGKILL)
    assert until(lambda: pair.metric('fans_workers{state="ready"}') == 2)
    assert pair.ask(LISTS).status_code == 200


def test_a_hung_worker_is_replaced_and_its_request_answered(impatient: Running) -> None:
    hung = impatient.metric('fans_worker_deaths_total{cause="hung"}')
    worker = only_worker(impatient)
    os.kill(worker, signal.SIGSTOP)
    assert impatient.ask(LISTS).status_code == 200
    assert until(lambda: worker not in impatient.workers())
    assert impatient.metric('fans_worker_deaths_total{cause="hung"}') > hung


def test_an_idle_worker_that_hangs_is_noticed_before_anyone_asks(impatient: Running) -> None:
    worker = only_worker(impatient)
    os.kill(worker, signal.SIGSTOP)
    assert until(lambda: worker not in (now := impatient.workers()) and len(now) > 0)


def test_the_keeper_and_the_nursery_are_replaced_while_workers_serve_on(pair: Running) -> None:
    service = pair
    with load(service) as results:
        family = descendants(service.process.pid)
        before = len(service.log)
        (nursery,) = [child for child, parent in family if parent == service.process.pid]
        (keeper,) = [child for child, parent in family if parent == nursery]
        # In this order: the other way round, a first victim may be replaced before the second one dies, by a process
        # that then has no parent here and that `workers` does not find.
        for victim in (nursery, keeper):
            os.kill(victim, signal.SIGKILL)
        assert until(
            lambda: any("serving run" in line for line in service.log[before:]) and len(service.workers()) == 2
        )
        with suppress(ProcessLookupError):  # a worker of the lost process may be on its way out
            os.kill(service.workers()[0], signal.SIGKILL)
        assert until(lambda: len(service.workers()) == 2)
    assert set(results) == {200}


def test_a_full_queue_refuses_at_once_and_says_when_to_come_back(single: Running) -> None:
    service = single
    worker = only_worker(service)
    os.kill(worker, signal.SIGSTOP)
    answers: list[int] = []
    asking = [threading.Thread(target=lambda: answers.append(service.ask(LISTS).status_code)) for _ in range(3)]
    for thread in asking:  # one with the worker, two in the queue
        thread.start()
    assert until(lambda: service.metric("fans_queue_requests") == 2)
    refused = service.ask(LISTS)
    assert refused.status_code == 429 and int(refused.headers["retry-after"]) >= 1
    assert refused.json()["retry_after"] >= 1
    os.kill(worker, signal.SIGCONT)
    for thread in asking:
        thread.join()
    assert answers == [200, 200, 200]


def test_a_request_past_its_deadline_is_answered_504_and_its_work_dropped(single: Running) -> None:
    service = single
    worker = only_worker(service)
    os.kill(worker, signal.SIGSTOP)
    lists = service.metric("fans_lists_total")
    late = [service.ask(LISTS, headers={"fans-timeout-ms": "50"}) for _ in range(3)]
    assert [response.status_code for response in late] == [504] * 3
    assert service.metric("fans_queue_requests") == 0
    os.kill(worker, signal.SIGCONT)
    assert service.ask(LISTS).status_code == 200
    assert service.metric("fans_lists_total") == lists + 1  # the late ones were never continued
    for bad in ("0", "soon", "-5", "99999999"):
        assert service.ask(LISTS, headers={"fans-timeout-ms": bad}).status_code == 400


def test_a_client_that_leaves_takes_its_waiting_request_along(single: Running) -> None:
    service = single
    worker = only_worker(service)
    os.kill(worker, signal.SIGSTOP)
    with unanswered(service), unanswered(service):  # the first is with the worker, the second in the queue
        assert until(lambda: service.metric("fans_queue_requests") == 1)
    assert until(lambda: service.metric("fans_queue_requests") == 0)
    os.kill(worker, signal.SIGCONT)
    assert service.ask(LISTS).status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_told_to_stop_it_is_unready_first_answers_all_and_leaves_nobody_behind(songs: Path, number: int) -> None:
    with Running(songs / "run", "--workers", 2, FANS_NOTICE_S=DEADLINE_S) as service, load(service) as results:
        assert until(lambda: len(results) > 20)
        family = [child for child, _ in descendants(service.process.pid)]
        service.process.send_signal(number)
        with httpx2.Client(base_url=service.url, timeout=DEADLINE_S) as probe:
            assert until(lambda: probe.get("/health/ready").status_code == 503)
            assert probe.get("/health/live").status_code == 200
            assert probe.post("/v1/continue", json={"lists": LISTS}).status_code == 200
        service.process.send_signal(number)  # told again, it does not wait for the end of the notice
        assert service.process.wait(DEADLINE_S) == 0
        assert not any('"error"' in line for line in service.log)
        answered = [result for result in results if result == 200]
        # Whoever comes after the end finds nobody; nobody was cut off in the middle.
        assert {*results} - {200} <= {result for result in map(str, results) if "ConnectError" in result}
        assert len(answered) > 20
        assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family))


def test_a_service_that_cannot_load_its_processes_says_so_and_ends(songs: Path, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('broken torch')")
    with pytest.raises(AssertionError, match="the process that loads models died"):
        Running(songs / "run", PYTHONPATH=tmp_path)


def test_a_keeper_lost_after_the_link_moved_on_brings_back_the_same_model(
    songs: Path, best: Path, tmp_path: Path
) -> None:
    link = tmp_path / "current"
    link.symlink_to(songs / "run")
    with Running(f"fans={link}", "--workers", 1) as service:
        before = service.ask(LISTS).json()["model"]["hash"]
        link.unlink()
        link.symlink_to(best)
        family, lines = descendants(service.process.pid), len(service.log)
        (nursery,) = [child for child, parent in family if parent == service.process.pid]
        (keeper,) = [child for child, parent in family if parent == nursery]
        os.kill(keeper, signal.SIGKILL)
        assert until(lambda: any("serving fans" in line for line in service.log[lines:]))
        assert service.ask(LISTS).json()["model"]["hash"] == before
        assert until(lambda: service.http.get("/v1/items?search=Song").status_code == 200)


def test_when_the_front_dies_its_processes_leave_too(songs: Path) -> None:
    service = Running(songs / "run", "--workers", 2)
    family = [child for child, _ in descendants(service.process.pid)]
    assert len(family) >= 4 and service.folders()
    service.process.kill()
    service.process.wait()
    assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family))
    assert not service.folders()


def test_counts_agree_with_what_was_sent(pair: Running) -> None:
    service = pair
    sent = {200: 0, 422: 0, 404: 0, 413: 0}
    before = {status: service.metric(COUNTED.format(status)) for status in sent}
    lists, items = service.metric("fans_lists_total"), service.metric("fans_items_total")
    requests = [
        (200, {"lists": LISTS}), (422, {"lists": [["nope"]]}), (404, {"lists": LISTS, "model": "x"}),
        (200, {"lists": LISTS * 3, "k": 5}), (413, {"lists": [["x" * 5_000_000]]}), (422, {"list": 1}),
    ]  # fmt: skip
    for _ in range(20):
        for status, request in requests:
            response = service.http.post("/v1/continue", content=json.dumps(request), headers=JSON)
            assert response.status_code == status
            sent[status] += 1
    for status, count in sent.items():
        assert service.metric(COUNTED.format(status)) - before[status] == count, status
    assert service.metric("fans_lists_total") - lists == 20 * (1 + 3)
    assert service.metric("fans_items_total") - items == 20 * (10 + 15)
