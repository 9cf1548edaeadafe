"""The service loses no request when processes die or hang and when it is stopped."""

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
    """Run clients that never retry; yield the list of their statuses, with a text for each failure."""
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
    """One worker, a long hang timeout and a short queue."""
    with Running(songs / "run", "--workers", 1, FANS_QUEUE_REQUESTS=2) as running:
        yield running


@pytest.fixture(scope="module")
def impatient(songs: Path) -> Iterator[Running]:
    """One worker and a short hang timeout, which a busy machine may exceed now and then."""
    with Running(songs / "run", "--workers", 1, FANS_HANG_S=5) as running:
        yield running


def unanswered(service: Running) -> socket.socket:
    """Return a connection on which a request was sent whose answer is not read."""
    body = json.dumps({"lists": LISTS}).encode()
    head = "POST /v1/continue HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    connection = socket.create_connection((urlsplit(service.url).hostname, urlsplit(service.url).port), DEADLINE_S)
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return connection


def only_worker(service: Running) -> int:
    """Return the process id of the only worker, once no other one is starting or ending."""
    assert until(lambda: len(service.workers()) == 1 and service.metric('fans_workers{state="ready"}') == 1)
    return service.workers()[0]


def test_killed_workers_lose_no_request(pair: Running) -> None:
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


def test_worker_lost_before_it_reported_is_replaced(pair: Running) -> None:
    for _ in range(3):  # each is killed as soon as it is seen, some before they report
        for worker in pair.workers():
            with suppress(ProcessLookupError):  # one of the last round
                os.kill(worker, signal.SIGKILL)
    assert until(lambda: pair.metric('fans_workers{state="ready"}') == 2)
    assert pair.ask(LISTS).status_code == 200


def test_hung_worker_is_replaced_and_its_request_answered(impatient: Running) -> None:
    hung = impatient.metric('fans_worker_deaths_total{cause="hung"}')
    worker = only_worker(impatient)
    os.kill(worker, signal.SIGSTOP)
    assert impatient.ask(LISTS).status_code == 200
    assert until(lambda: worker not in impatient.workers())
    assert impatient.metric('fans_worker_deaths_total{cause="hung"}') > hung


def test_hung_idle_worker_is_replaced(impatient: Running) -> None:
    worker = only_worker(impatient)
    os.kill(worker, signal.SIGSTOP)
    assert until(lambda: worker not in (now := impatient.workers()) and len(now) > 0)


def test_model_host_and_supervisor_are_replaced_while_workers_serve(pair: Running) -> None:
    service = pair
    with load(service) as results:
        family = descendants(service.process.pid)
        before = len(service.log)
        (supervisor,) = [child for child, parent in family if parent == service.process.pid]
        (model_host,) = [child for child, parent in family if parent == supervisor]
        # In this order: otherwise the model host may be replaced before the supervisor dies, by a process that then
        # has no parent here and that `workers` does not find.
        for victim in (supervisor, model_host):
            os.kill(victim, signal.SIGKILL)
        assert until(
            lambda: any("serving run" in line for line in service.log[before:]) and len(service.workers()) == 2
        )
        with suppress(ProcessLookupError):  # a worker of the lost process may be exiting
            os.kill(service.workers()[0], signal.SIGKILL)
        assert until(lambda: len(service.workers()) == 2)
    assert set(results) == {200}


def test_full_queue_refuses_at_once_with_retry_after(single: Running) -> None:
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


def test_request_past_its_deadline_gets_504_and_is_dropped(single: Running) -> None:
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


def test_queued_request_of_a_disconnected_client_is_dropped(single: Running) -> None:
    service = single
    worker = only_worker(service)
    os.kill(worker, signal.SIGSTOP)
    with unanswered(service), unanswered(service):  # the first is with the worker, the second in the queue
        assert until(lambda: service.metric("fans_queue_requests") == 1)
    assert until(lambda: service.metric("fans_queue_requests") == 0)
    os.kill(worker, signal.SIGCONT)
    assert service.ask(LISTS).status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_stop_reports_not_ready_answers_all_requests_and_ends_all_processes(songs: Path, number: int) -> None:
    with Running(songs / "run", "--workers", 2, FANS_NOTICE_S=DEADLINE_S) as service, load(service) as results:
        assert until(lambda: len(results) > 20)
        family = [child for child, _ in descendants(service.process.pid)]
        service.process.send_signal(number)
        with httpx2.Client(base_url=service.url, timeout=DEADLINE_S) as probe:
            assert until(lambda: probe.get("/health/ready").status_code == 503)
            assert probe.get("/health/live").status_code == 200
            assert probe.post("/v1/continue", json={"lists": LISTS}).status_code == 200
        service.process.send_signal(number)  # the second signal ends the notice
        assert service.process.wait(DEADLINE_S) == 0
        assert not any('"error"' in line for line in service.log)
        answered = [result for result in results if result == 200]
        # Later requests find no service; no request was cut off in the middle.
        assert {*results} - {200} <= {result for result in map(str, results) if "ConnectError" in result}
        assert len(answered) > 20
        assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family))


def test_service_whose_supervisor_cannot_start_reports_it_and_exits(songs: Path, tmp_path: Path) -> None:
    (tmp_path / "safetensors.py").write_text("raise ImportError('broken package')")
    with pytest.raises(AssertionError, match="the process that loads models died"):
        Running(songs / "run", PYTHONPATH=tmp_path)


def test_lost_model_host_loads_the_same_model_after_the_link_has_changed(
    songs: Path, best: Path, tmp_path: Path
) -> None:
    link = tmp_path / "current"
    link.symlink_to(songs / "run")
    with Running(f"fans={link}", "--workers", 1) as service:
        before = service.ask(LISTS).json()["model"]["hash"]
        link.unlink()
        link.symlink_to(best)
        family, lines = descendants(service.process.pid), len(service.log)
        (supervisor,) = [child for child, parent in family if parent == service.process.pid]
        (model_host,) = [child for child, parent in family if parent == supervisor]
        os.kill(model_host, signal.SIGKILL)
        assert until(lambda: any("serving fans" in line for line in service.log[lines:]))
        assert service.ask(LISTS).json()["model"]["hash"] == before
        assert until(lambda: service.http.get("/v1/items?search=Song").status_code == 200)


def test_all_processes_exit_when_the_front_dies(songs: Path) -> None:
    service = Running(songs / "run", "--workers", 2)
    family = [child for child, _ in descendants(service.process.pid)]
    assert len(family) >= 4 and service.folders()
    service.process.kill()
    service.process.wait()
    assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family))
    assert not service.folders()


def test_metrics_count_the_requests_sent(pair: Running) -> None:
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
