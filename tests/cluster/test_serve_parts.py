"""Parts of the service on Ray that need no Ray: lost calls, merged metrics, ignored settings, configurations."""

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fansrec.cluster.serving import engine
from fansrec.cluster.serving.application import Scale, choose_scale
from fansrec.cluster.serving.command import ignored_settings, settings_at
from fansrec.cluster.serving.deployments import ClusterDeployments, agree, next_config
from fansrec.cluster.serving.engine import ModelCache
from fansrec.cluster.serving.front import collect_metrics, open_slots
from fansrec.cluster.serving.metrics import merge_metrics
from fansrec.errors import BadArtifact, BadSetting
from fansrec.serving.http.problems import Problem
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes.deployment_manager import Busy
from fansrec.serving.processes.dispatch import Dispatcher
from fansrec.serving.processes.jobs import Job
from fansrec.serving.settings import ModelSpec, Settings

SETTINGS = Settings(models=(ModelSpec(name="a", run=Path("a")),), workers=2)
REQUESTED: list[dict[str, Any]] = [{"name": "a", "run": "/link", "generation": None}]


class Replicas:
    """Replicas that die during the first calls."""

    def __init__(self, deaths: int) -> None:
        self.deaths, self.calls = deaths, list[Any]()

    async def answer(self, message: Any) -> Any:
        self.calls.append(message)
        if len(self.calls) <= self.deaths:
            raise RuntimeError("the actor died")
        return [[job.id, len(b"answer"), 1, 10, "", ""] for job in message["jobs"]], b"answer"


def call(replicas: Replicas) -> bytes:
    async def submit() -> bytes:
        dispatcher = Dispatcher(SETTINGS, Metrics(), asyncio.get_running_loop())
        open_slots(dispatcher, replicas.answer, SETTINGS.worker_count)
        now = time.monotonic()
        return await dispatcher.submit(Job(0, "a", [["x"]], 10, {}, now - 1.5, now + 1000), tokens=10).answer

    return asyncio.run(submit())


def test_lost_call_is_retried() -> None:
    replicas = Replicas(deaths=2)
    assert call(replicas) == b"answer"
    assert len(replicas.calls) == 3


def test_request_with_which_replicas_die_is_given_up() -> None:
    replicas = Replicas(deaths=99)
    with pytest.raises(Problem, match="will not be tried again") as raised:
        call(replicas)
    assert (raised.value.status, len(replicas.calls)) == (500, 3)


def test_moments_are_sent_as_durations() -> None:
    replicas = Replicas(deaths=0)
    call(replicas)
    [job] = replicas.calls[0]["jobs"]
    assert 1.5 <= job.since < 500
    assert 500 < job.deadline <= 1000


def test_merged_metrics_are_valid_for_prometheus() -> None:
    one, other = Metrics(), Metrics()
    for metrics, times in ((one, 3), (other, 4)):
        for _ in range(times):
            metrics.observe_request("/v1/continue", "POST", 200, 0.01)
    families = [*text_string_to_metric_families(merge_metrics([("x", one.text()), ("y", other.text())]).decode())]
    assert len({family.name for family in families}) == len(families)
    [requests] = [family for family in families if family.name == "fans_http_requests"]
    assert {sample.labels["replica"]: sample.value for sample in requests.samples} == {"x": 3, "y": 4}


def test_dead_replica_does_not_hide_the_metrics_of_others() -> None:
    class Handle:
        def broadcast(self, method: str) -> "Handle":
            return self

        async def results_async(self, timeout_s: float, return_exceptions: bool) -> list[Any]:
            return [("y", b"2"), RuntimeError("the actor died"), ("x", b"1")]

    assert asyncio.run(collect_metrics(cast(Any, Handle()))) == [("x", b"1"), ("y", b"2")]


def test_replicas_must_find_the_same_models() -> None:
    good = {"models": [{"hash": "1", "folder": "/a"}]}
    assert agree([good, good]) == good["models"]
    with pytest.raises(Busy, match="different models"):
        agree([good, {"models": [{"hash": "2", "folder": "/a"}]}])
    with pytest.raises(BadArtifact, match="damaged"):
        agree([good, {"refused": "BadArtifact", "detail": "damaged"}])


def test_config_pins_models_and_keeps_the_previous_ones() -> None:
    first = next_config(REQUESTED, [{"hash": "1", "folder": "/one"}], None)
    second = next_config(REQUESTED, [{"hash": "2", "folder": "/two"}], first)
    assert second["requested"] == REQUESTED
    assert second["current"]["specs"] == [{"name": "a", "run": "/two", "generation": None, "hash": "2"}]
    assert second["previous"] == first["current"]


def test_settings_without_effect_on_ray_are_named() -> None:
    assert ignored_settings(SETTINGS.model_copy(update={"max_connections": 5})) == ["workers", "max_connections"]


def test_more_replicas_than_the_cluster_has_cores_are_refused() -> None:
    resources = {"CPU": 4.0, "memory": 1e9}
    assert choose_scale(None, "cpu", resources) == Scale(2, 4)
    assert choose_scale(Scale(4, 9), "cpu", resources) == Scale(4, 9)
    with pytest.raises(BadSetting, match="5 replicas need a CPU each, and the cluster has 4"):
        choose_scale(Scale(5, 9), "cpu", resources)
    assert choose_scale(None, "cuda", resources | {"GPU": 1.0}) == Scale(1, 1)
    for requested in (None, Scale(1, 1)):
        with pytest.raises(BadSetting, match="1 replicas need a GPU each, and the cluster has 0"):
            choose_scale(requested, "cuda", resources)


def test_public_service_is_not_updated_without_keys() -> None:
    with pytest.raises(BadSetting, match="0.0.0.0 can be reached from other machines: give keys"):
        settings_at(SETTINGS, "0.0.0.0", 8000)
    with_keys = SETTINGS.model_copy(update={"keys": Path("keys")})
    there = settings_at(with_keys, "0.0.0.0", 8000)
    assert there == with_keys.model_copy(update={"host": "0.0.0.0", "port": 8000})


def config(current: str, previous: str) -> dict[str, Any]:
    models = [[{"name": "a", "hash": hash_, "folder": f"/{hash_}"}] for hash_ in (current, previous)]
    first = next_config(REQUESTED, models[1], None)
    return next_config(REQUESTED, models[0], first) | {"scale": {"least": 3, "most": 5}}


class Changes:
    """Deployments of a cluster, and the calls to its replicas."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.refusal, self.prepared, self.deployed = refusal, list[Any](), list[Any]()
        self.deployments = ClusterDeployments(Metrics(), lambda: None, self._prepare, self._deploy)
        self.deployments.adopt(config("2", "1"))

    async def _prepare(self, specs: Any) -> Any:
        self.prepared.append(specs)
        if self.refusal:
            raise self.refusal
        return [{"name": "a", "hash": "3", "folder": "/3"}]

    async def _deploy(self, new: Any) -> None:
        self.deployed.append(new)


def test_change_of_models_keeps_the_number_of_replicas() -> None:
    for change in (ClusterDeployments.reload, ClusterDeployments.roll_back):
        changes = Changes()
        assert asyncio.run(change(changes.deployments)) == ["a"]
        assert changes.deployed[0]["scale"] == {"least": 3, "most": 5}


def test_rollback_is_refused_if_a_replica_lacks_the_previous_models() -> None:
    changes = Changes(BadArtifact("overwritten"))
    with pytest.raises(BadArtifact):
        asyncio.run(changes.deployments.roll_back())
    assert changes.prepared == [config("2", "1")["previous"]["specs"]]
    assert not changes.deployed


def test_replica_refuses_an_overwritten_model(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ["1"]  # the hash of its content

    def load(specs: Any, *_: Any) -> Any:
        read.append(folder[0])
        return {"a": SimpleNamespace(hash=folder[0], move_to_device=lambda: None)}

    read = list[str]()
    monkeypatch.setattr(engine, "load_models", load)
    monkeypatch.setattr(engine, "describe", lambda model: {"hash": model.hash, "folder": "/one"})
    old, new = ModelCache("cpu", "auto"), ModelCache("cpu", "auto")
    known = next_config(REQUESTED, old.load(REQUESTED), None)["current"]["specs"]
    folder[0] = "2"
    assert old.load(known)[0]["hash"] == "1"
    assert read == ["1"]
    with pytest.raises(BadArtifact, match="/one was overwritten since a was served from it"):
        new.load(known)
    new.serve(known, [])  # a new replica answers with the content of the folder and reports its hash
    with pytest.raises(BadArtifact, match="overwritten"):
        new.load(known)
    assert new["a"].hash == "2"
