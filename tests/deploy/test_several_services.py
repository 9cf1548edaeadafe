"""Two services behind HAProxy: no request fails when one is killed, restarted or stopped."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deploy.balancer import Balancer
from serving.processes.test_reliability import load
from serving.service import Running, until

CLIENTS = 6


@pytest.fixture(scope="module")
def services(songs: Path) -> Iterator[dict[str, Running]]:
    """Two services; a test that ends one of them starts it again."""
    services = {name: start(songs) for name in ("one", "two")}
    yield services
    for service in services.values():
        service.stop(signal.SIGKILL)
        service.http.close()


@pytest.fixture(scope="module")
def balancer(services: dict[str, Running], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Balancer]:
    ports = {name: port_of(service) for name, service in services.items()}
    with Balancer(tmp_path_factory.mktemp("haproxy"), ports) as balancer:
        assert until(lambda: all(map(balancer.is_checked, services)))
        yield balancer


def start(songs: Path, port: int = 0) -> Running:
    """Start a service whose notice before it stops is the default one."""
    return Running(songs / "run", "--workers", 1, "--port", port, FANS_NOTICE_S=1)


def port_of(service: Running) -> int:
    return urlsplit(service.url).port or 0


def served(balancer: Balancer, server: str) -> float:
    return balancer.metric("http_responses_total", server, ',code="2xx"')


def test_a_request_keeps_its_ids(balancer: Balancer) -> None:
    trace = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    answer = balancer.http.get("/v1/models", headers={"X-Request-ID": "mine", "traceparent": trace})
    assert answer.headers["x-request-id"] == "mine" and "a" * 32 in answer.headers["traceparent"]


def test_no_request_fails_when_a_service_is_killed_and_starts_again(
    services: dict[str, Running], balancer: Balancer, songs: Path
) -> None:
    one = services["one"]
    with load(balancer, CLIENTS) as results:
        assert until(lambda: served(balancer, "one") > 5 and served(balancer, "two") > 5)
        os.kill(one.process.pid, signal.SIGSTOP)
        assert until(lambda: balancer.metric("current_sessions", "one") > 0)  # requests that it will not answer
        one.stop(signal.SIGKILL)
        assert until(lambda: not balancer.is_up("one"))
        before = served(balancer, "one")
        services["one"] = start(songs, port_of(one))
        assert until(lambda: served(balancer, "one") > before + 5)
    assert {*results} == {200}
    assert balancer.metric("redispatch_warnings_total", "one") > 0


def test_no_request_fails_when_a_service_is_stopped_and_starts_again(
    services: dict[str, Running], balancer: Balancer, songs: Path
) -> None:
    two = services["two"]
    with load(balancer, CLIENTS) as results:
        assert until(lambda: served(balancer, "one") > 5 and served(balancer, "two") > 5)
        assert two.stop() == 0
        assert until(lambda: not balancer.is_up("two"))
        before = served(balancer, "two")
        services["two"] = start(songs, port_of(two))
        assert until(lambda: served(balancer, "two") > before + 5)
    assert {*results} == {200}
