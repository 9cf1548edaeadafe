"""Services on a cluster of two simulated machines, deployed once, and on a local Ray."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from typer.testing import CliRunner

import fansrec
from cluster.conftest import commands, simulated_cluster
from cluster.processes import workers_named
from fansrec.cli.main import app
from serving.service import DEADLINE_S, PATIENT, descendants, free_ports, until

LISTS: list[list[object]] = [["i1", "i17", "Song 31"], ["i2"], ["i40", "i41", "nobody"]]


class Fleet:
    """The services of a cluster, and the commands that change them."""

    def __init__(self, folder: Path, songs: Path, fans: Callable[..., Any], nodes: Any) -> None:
        self.songs, self.link, self.nodes = songs, folder / "current", nodes
        self._fans, self._settings = fans, PATIENT | {"FANS_SEARCH_FOLDER": str(folder), "FANS_NOTICE_S": "0"}
        self.point_to("run")
        deployed = self.order(f"fans={self.link}", "--port", free_ports(2))
        self.urls = re.findall(r"http://\S+(?=/)", deployed)

    def order(self, *arguments: object, code: int = 0) -> str:
        """Return what `fans serve …` prints."""
        cluster = ("--engine", "ray", "--address", self.nodes.address)
        command = self._fans("serve", *arguments, *cluster, **self.nodes.environment, **self._settings)
        output, errors = command.communicate(timeout=DEADLINE_S)
        assert command.returncode == code, errors
        return str(output if code == 0 else errors)

    def point_to(self, run: str) -> None:
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(self.songs / run)

    def status(self) -> list[tuple[str, str]]:
        """Return URL and state of each service."""
        return re.findall(r"(http://\S+)/  (.*?)  ", self.order("--status"))

    def processes(self) -> list[int]:
        """Return the front process of each service."""
        return [int(pid) for pid in re.findall(r"process (\d+)", self.order("--status"))]

    def hashes(self) -> list[str]:
        return [httpx2.get(f"{url}/v1/models", timeout=60).json()["models"][0]["hash"] for url in self.urls]


@pytest.fixture(scope="module")
def fleet(songs: Path, best: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with simulated_cluster() as nodes, commands() as fans:
        yield Fleet(tmp_path_factory.mktemp("fleet"), songs, fans, nodes)


def is_ready(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/health/ready", timeout=60).status_code == 200
    except httpx2.TransportError:
        return False


def test_each_machine_answers_like_the_library(fleet: Fleet) -> None:
    assert len(set(fleet.urls)) == 2  # on one address, so with two ports
    expected = fansrec.load(fleet.songs / "run").continue_lists(LISTS, 7, max_per_group=2)
    for url in fleet.urls:
        with fansrec.Client(url) as client:
            answers = client.continue_lists(LISTS, k=7, max_per_group=2)
        assert [answer.items for answer in answers] == [answer.items for answer in expected]
    assert fleet.status() == [(url, "ready") for url in fleet.urls]


def test_lost_processes_are_replaced(fleet: Fleet) -> None:
    """The service of one machine is killed; so are the actor of the other one and the actor that replaces actors."""
    fronts = fleet.processes()
    actors = [psutil.Process(pid).parent() for pid in fronts]
    [supervisor] = workers_named("ray::Fleet")
    os.kill(fronts[0], signal.SIGKILL)
    actors[1].kill()
    os.kill(supervisor, signal.SIGKILL)
    assert until(lambda: not any(map(psutil.pid_exists, fronts)))
    assert until(lambda: all(map(is_ready, fleet.urls)))
    assert until(lambda: fleet.status() == [(url, "ready") for url in fleet.urls])


def test_reload_changes_one_service_after_another(fleet: Fleet) -> None:
    old = fleet.hashes()
    fleet.point_to("best")
    assert fleet.order("--reload") == "".join(f"{url}/  fans changed\n" for url in fleet.urls)
    new = fleet.hashes()
    assert len({*new}) == 1 and not {*new} & {*old}


def test_refused_model_stops_the_reload_and_the_old_one_stays(fleet: Fleet) -> None:
    old = fleet.hashes()
    fleet.point_to("corpus")
    errors = fleet.order("--reload", code=2)
    assert re.fullmatch(r"fans: http://\S+ \S+ is not a trained model.*\(0 of 2 services were changed\)\n", errors)
    assert fleet.hashes() == old


@pytest.mark.long
def test_machines_that_are_lost_and_join_change_the_services(fleet: Fleet) -> None:
    fleet.point_to("run")
    fleet.nodes.kill_one()
    assert until(lambda: [state for _, state in fleet.status()] == ["ready"])
    fleet.nodes.add_one()
    assert until(lambda: sorted(fleet.status()) == [(url, "ready") for url in sorted(fleet.urls)])


def test_services_are_removed_from_the_cluster_without_a_trace(fleet: Fleet) -> None:
    fronts = fleet.processes()
    processes = [*fronts, *(child for pid in fronts for child, _ in descendants(pid))]
    fleet.order("--stop")
    assert until(lambda: not any(map(psutil.pid_exists, processes)))
    assert not any(map(is_ready, fleet.urls))
    assert "there is no service of fansrec on the cluster" in fleet.order("--status", code=2)


@pytest.mark.long
def test_local_ray_serves_until_a_signal(songs: Path, fans: Callable[..., Any]) -> None:
    command = fans("serve", songs / "run", "--engine", "ray", "--port", 0, **PATIENT)
    [url] = re.findall(r"http://\S+(?=/)", command.stdout.readline())
    with fansrec.Client(url) as client:
        assert len(client.continue_lists(LISTS, k=3)) == 3
    processes = [child for child, _ in descendants(command.pid)]
    command.send_signal(signal.SIGTERM)
    assert command.wait(DEADLINE_S) == 0
    assert until(lambda: not any(map(psutil.pid_exists, processes)))


def refusal(*arguments: object) -> str:
    run = CliRunner().invoke(app, ["serve", *map(str, arguments)])
    assert run.exit_code != 0
    return str(run.exception)


def test_mistakes_are_reported_in_one_line(songs: Path, tmp_path: Path) -> None:
    ray, elsewhere = ("--engine", "ray"), ("--engine", "ray", "--address", "HOST:1")
    assert "MIN..MAX" in refusal(songs / "run", *ray, "--replicas", "3..2")
    assert "engine ray" in refusal(songs / "run", "--replicas", "2")
    assert "stop needs the address" in refusal(*ray, "--stop")
    assert "engine ray" in refusal("--reload")
    for other in ("--stop", songs / "run", "--port=1", "--replicas=1"):
        assert "reload needs only engine and address; leave out the other" in refusal(*elsewhere, "--reload", other)
    assert "writes needs the service of one machine" in refusal(songs / "run", *ray, "--writes", tmp_path)
    assert "port 0 changes with every restart" in refusal(songs / "run", *elsewhere, "--port", 0)
