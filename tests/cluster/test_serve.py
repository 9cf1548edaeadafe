"""The service on Ray Serve, started once: two fronts, two replicas of the models, on a local Ray."""

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from ray import serve
from typer.testing import CliRunner

import fansrec
from fansrec.cli.main import app
from fansrec.cluster.serving.application import Scale
from fansrec.cluster.serving.command import deploy_service, stop_on_ray
from fansrec.errors import BadArtifact, BadSetting
from fansrec.serving.http.keys import new_key
from fansrec.serving.settings import read_settings
from serving.service import descendants, until

LISTS: list[list[object]] = [["i1", "i17", "Song 31"], ["i2"], ["i40", "i41", "nobody"]]
THREADS = 6


class Served:
    def __init__(self, folder: Path, songs: Path) -> None:
        self.songs, self.link, self.keys = songs, folder / "current", folder / "fans.keys"
        self.point_to("run")
        self.user, self.admin = new_key(self.keys, "user", "use"), new_key(self.keys, "operator", "admin")
        self.folder, self.port = folder, free_port()
        self.url = self.deploy(f"fans={self.link}").rstrip("/")
        self.http = httpx2.Client(base_url=self.url, headers={"X-API-Key": self.user}, timeout=120)

    def deploy(self, *models: str) -> str:
        """Deploy like `fans serve MODELS --engine ray --address …`."""
        more = {"keys": self.keys, "search_folder": self.folder, "max_body_bytes": 4000, "log_level": "warning"}
        return deploy_service(read_settings({"models": [*models], "port": self.port} | more, None, {}), Scale(2, 2))

    def point_to(self, run: str) -> None:
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(self.songs / run)

    def reload(self) -> Any:
        return self.http.post("/v1/models/reload", headers={"X-API-Key": self.admin}).json()

    def hash(self) -> str:
        return str(self.http.get("/v1/models").json()["models"][0]["hash"])

    def samples(self) -> list[Any]:
        families = text_string_to_metric_families(self.http.get("/metrics", headers={"X-API-Key": self.admin}).text)
        return [sample for family in families for sample in family.samples]


@pytest.fixture(scope="module")
def served(two_free_cores: None, songs: Path, best: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    try:
        made = Served(tmp_path_factory.mktemp("served"), songs)
        yield made
        made.http.close()
    finally:
        serve.shutdown()


class Load:
    """Threads that send requests continuously and never retry."""

    def __init__(self, served: Served) -> None:
        self.served, self.outcomes, self.hashes, self._over = served, Counter[str](), Counter[str](), False
        self._threads = [threading.Thread(target=self._ask) for _ in range(THREADS)]

    def _ask(self) -> None:
        with httpx2.Client(base_url=self.served.url, headers={"X-API-Key": self.served.user}, timeout=120) as http:
            while not self._over:
                try:
                    reply = http.post("/v1/continue", json={"lists": LISTS})
                    self.outcomes[str(reply.status_code)] += 1
                    self.hashes[reply.json()["model"]["hash"]] += 1
                except Exception as error:
                    self.outcomes[repr(error)] += 1

    def wait(self) -> None:
        """Wait for some more requests."""
        now = self.outcomes.total()
        assert until(lambda: self.outcomes.total() > now + 5 * THREADS)

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        self.wait()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over = True
        for thread in self._threads:
            thread.join()


def free_port() -> int:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def processes(deployment: str) -> set[int]:
    """Return the processes of the replicas of a deployment."""

    def is_one(pid: int) -> bool:
        try:
            return f"ServeReplica:fansrec:{deployment}" in Path(f"/proc/{pid}/cmdline").read_text()
        except OSError:
            return False

    return {pid for pid, _ in descendants(os.getpid()) if is_one(pid)}


def kill_under_load(served: Served, deployment: str) -> Load:
    """Kill a replica under load; the load continues until another one has replaced it."""
    assert until(lambda: len(processes(deployment)) == 2, 300)
    with Load(served) as load:
        victim = min(processes(deployment))
        os.kill(victim, signal.SIGKILL)
        load.wait()
        assert until(lambda: len(processes(deployment) - {victim}) == 2, 300)
        load.wait()
    return load


def test_answers_equal_those_of_the_library(served: Served, songs: Path) -> None:
    with fansrec.Client(served.url, served.user) as client:
        answers = client.continue_lists(LISTS, k=7, max_per_group=2)
    expected = fansrec.load(songs / "run").continue_lists(LISTS, 7, max_per_group=2)
    assert [answer.items for answer in answers] == [answer.items for answer in expected]
    assert [answer.unknown for answer in answers] == [answer.unknown for answer in expected]
    assert answers.hash == fansrec.load(songs / "run").artifact.hash


@pytest.mark.parametrize(
    ("body", "headers", "status", "kind"),
    [
        ({"lists": []}, {}, 422, "invalid-request"),
        ({"lists": [["nobody"]]}, {}, 422, "unknown-items"),
        ({"lists": [["i1"]], "model": "other"}, {}, 404, "unknown-model"),
        ({"lists": [["i1"] * 2000]}, {}, 413, "too-large"),
        ({"lists": [["i1"]]}, {"X-API-Key": "fans_wrong"}, 401, "wrong-key"),
        ({"lists": [["i1"]]}, {"Content-Type": "text/plain"}, 415, "not-json"),
        ({"lists": [["i1"]]}, {"Fans-Timeout-Ms": "0"}, 400, "bad-timeout"),
        ({"lists": [["i1"]]}, {"Fans-Timeout-Ms": "1"}, 504, "deadline"),
    ],
)  # fmt: skip
def test_refusals_equal_those_of_one_machine(
    served: Served, body: dict[str, Any], headers: dict[str, str], status: int, kind: str
) -> None:
    reply = served.http.post("/v1/continue", json=body, headers={"X-Request-Id": "mine"} | headers)
    assert (reply.status_code, reply.json()["type"]) == (status, f"urn:fansrec:{kind}")
    assert reply.json()["request_id"] == reply.headers["x-request-id"] == "mine"


def test_page_and_search_work(served: Served) -> None:
    assert "text/html" in served.http.get("/").headers["content-type"]
    assert until(lambda: served.http.get("/v1/items", params={"search": "song 17"}).status_code == 200)
    assert served.http.get("/v1/items", params={"search": "song 17"}).json()["items"][0]["item"] == "i17"


def test_metrics_contain_every_replica(served: Served) -> None:
    def requests() -> float:
        name, labels = "fans_http_requests_total", {"route": "/v1/continue", "status": "200"}
        return float(sum(s.value for s in served.samples() if s.name == name and labels.items() <= s.labels.items()))

    before = requests()
    for _ in range(20):
        served.http.post("/v1/continue", json={"lists": LISTS})
    assert requests() == before + 20
    memory = {s.labels["replica"].partition("-")[0] for s in served.samples() if s.name.startswith("process_resident")}
    assert memory == {"Front", "Models"}


def test_killed_model_replica_loses_no_request(served: Served) -> None:
    load = kill_under_load(served, "Models")
    assert load.outcomes.keys() == {"200"}


def test_killed_front_loses_no_request(served: Served) -> None:
    load = kill_under_load(served, "Front")
    assert load.outcomes.keys() == {"200"}


def test_reload_changes_models_and_loses_no_request(served: Served) -> None:
    old = served.hash()
    with Load(served) as load:
        served.point_to("best")
        assert served.reload()["changed"] == ["fans"]
        load.wait()
    assert load.outcomes.keys() == {"200"}
    new = fansrec.load(served.songs / "best").artifact.hash
    assert load.hashes.keys() == {old, new}
    assert {served.hash() for _ in range(8)} == {new}


def test_model_changes_need_an_admin_key(served: Served) -> None:
    for change in ("reload", "rollback"):
        assert served.http.post(f"/v1/models/{change}").status_code == 403


def test_bad_model_is_refused_and_the_old_one_stays(served: Served) -> None:
    old = served.hash()
    served.point_to("corpus")
    assert served.reload()["type"] == "urn:fansrec:bad-artifact"
    assert served.hash() == old
    with pytest.raises(BadArtifact):
        served.deploy(f"fans={served.folder / 'nothing'}")
    assert served.http.post("/v1/continue", json={"lists": LISTS}).json()["model"]["hash"] == old


def test_deploying_another_run_replaces_the_old_one_and_loses_no_request(served: Served) -> None:
    old, new = served.hash(), fansrec.load(served.songs / "run").artifact.hash
    with Load(served) as load:
        served.deploy(f"other={served.songs / 'run'}")
        load.wait()
    assert load.outcomes.keys() == {"200"}
    assert load.hashes.keys() == {old, new}
    assert {served.http.post("/v1/continue", json={"lists": LISTS}).json()["model"]["name"] for _ in range(8)} == {
        "other"
    }


def test_rollback_returns_to_the_previous_models(served: Served) -> None:
    with fansrec.Client(served.url, served.admin) as client:
        assert client.rollback()["models"][0]["name"] == "fans"
        assert client.continue_lists(LISTS).model == "fans"


def test_service_is_removed_from_the_cluster_once(served: Served) -> None:
    stop_on_ray("where this process is connected")
    assert "fansrec" not in serve.status().applications
    with pytest.raises(BadSetting, match="there is no service of fansrec"):
        stop_on_ray("where this process is connected")


def test_mistakes_are_reported_in_one_line(songs: Path) -> None:
    def refusal(*arguments: str) -> str:
        run = CliRunner().invoke(app, ["serve", *arguments])
        assert run.exit_code != 0
        return str(run.exception)

    assert "MIN..MAX" in refusal(str(songs / "run"), "--engine", "ray", "--replicas", "3..2")
    assert "engine ray" in refusal(str(songs / "run"), "--replicas", "2")
    assert "stop needs the address" in refusal("--engine", "ray", "--stop")
