"""Parts of the service on Ray that need no Ray: lost calls, counts put together, settings without a meaning."""

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fansrec.cluster.serving import holding
from fansrec.cluster.serving.application import Scale, scale_for
from fansrec.cluster.serving.command import listening, unheeded
from fansrec.cluster.serving.config import agreed, following
from fansrec.cluster.serving.counts import together
from fansrec.cluster.serving.fleet import Fleet
from fansrec.cluster.serving.front import told_by
from fansrec.cluster.serving.slots import open_slots
from fansrec.errors import BadArtifact, BadSetting
from fansrec.serving.http.problems import Problem
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes.deployments import Busy
from fansrec.serving.processes.dispatch import Dispatcher
from fansrec.serving.settings import ModelPlace, Settings

SETTINGS = Settings(models=(ModelPlace(name="a", run=Path("a")),), workers=2)
ASKED: list[dict[str, Any]] = [{"name": "a", "run": "/link", "generation": None}]


class Replicas:
    """They die over the first calls."""

    def __init__(self, deaths: int) -> None:
        self.deaths, self.calls = deaths, list[Any]()

    async def answer(self, message: Any, content: bytes) -> Any:
        self.calls.append((message, content))
        if len(self.calls) <= self.deaths:
            raise RuntimeError("the actor died")
        return [[job[0], len(content), 1, 10, "", ""] for job in message["jobs"]], content


def ask(replicas: Replicas) -> bytes:
    async def asked() -> bytes:
        dispatcher = Dispatcher(SETTINGS, Metrics(), asyncio.get_running_loop())
        open_slots(dispatcher, replicas.answer, SETTINGS.worker_count)
        now = time.monotonic()
        return await dispatcher.ask("a", b"question", 10, now - 1.5, now + 1000).answer

    return asyncio.run(asked())


def test_a_call_that_is_lost_is_made_again() -> None:
    replicas = Replicas(deaths=2)
    assert ask(replicas) == b"question"
    assert len(replicas.calls) == 3


def test_a_request_over_which_replicas_die_is_given_up() -> None:
    replicas = Replicas(deaths=99)
    with pytest.raises(Problem, match="will not be tried again") as told:
        ask(replicas)
    assert (told.value.status, len(replicas.calls)) == (500, 3)


def test_moments_are_sent_as_durations_since_clocks_differ() -> None:
    replicas = Replicas(deaths=0)
    ask(replicas)
    [[_, _, _, ago, left]] = replicas.calls[0][0]["jobs"]
    assert 1.5 <= ago < 500
    assert 500 < left <= 1000


def test_counts_of_all_replicas_are_one_text_that_prometheus_reads() -> None:
    one, other = Metrics(), Metrics()
    for metrics, times in ((one, 3), (other, 4)):
        for _ in range(times):
            metrics.saw("/v1/continue", "POST", 200, 0.01)
    families = [*text_string_to_metric_families(together([("x", one.text()), ("y", other.text())]).decode())]
    assert len({family.name for family in families}) == len(families)
    [asked] = [family for family in families if family.name == "fans_http_requests"]
    assert {sample.labels["replica"]: sample.value for sample in asked.samples} == {"x": 3, "y": 4}


def test_a_replica_that_dies_takes_no_other_ones_counts_along() -> None:
    class Asked:
        def broadcast(self, method: str) -> "Asked":
            return self

        async def results_async(self, timeout_s: float, return_exceptions: bool) -> list[Any]:
            return [("y", b"2"), RuntimeError("the actor died"), ("x", b"1")]

    assert asyncio.run(told_by(cast(Any, Asked()))) == [("x", b"1"), ("y", b"2")]


def test_what_replicas_found_must_be_the_same() -> None:
    good = {"models": [{"hash": "1", "folder": "/a"}]}
    assert agreed([good, good]) == good["models"]
    with pytest.raises(Busy, match="different models"):
        agreed([good, {"models": [{"hash": "2", "folder": "/a"}]}])
    with pytest.raises(BadArtifact, match="damaged"):
        agreed([good, {"refused": "BadArtifact", "detail": "damaged"}])


def test_models_are_pinned_to_what_a_link_led_to_and_the_old_ones_remembered() -> None:
    first = following(ASKED, [{"hash": "1", "folder": "/one"}], None)
    second = following(ASKED, [{"hash": "2", "folder": "/two"}], first)
    assert second["asked"] == ASKED
    assert second["now"]["places"] == [{"name": "a", "run": "/two", "generation": None, "hash": "2"}]
    assert second["before"] == first["now"]


def test_settings_that_mean_nothing_on_ray_are_named() -> None:
    assert unheeded(SETTINGS.model_copy(update={"max_connections": 5})) == ["workers", "max_connections"]


def test_more_replicas_than_the_cluster_has_room_for_are_refused() -> None:
    there = {"CPU": 4.0, "memory": 1e9}
    assert scale_for(None, "cpu", there) == Scale(2, 4)
    assert scale_for(Scale(4, 9), "cpu", there) == Scale(4, 9)
    with pytest.raises(BadSetting, match="5 replicas need a CPU each, and the cluster has 4"):
        scale_for(Scale(5, 9), "cpu", there)
    assert scale_for(None, "cuda", there | {"GPU": 1.0}) == Scale(1, 1)
    for asked in (None, Scale(1, 1)):
        with pytest.raises(BadSetting, match="1 replicas need a GPU each, and the cluster has 0"):
            scale_for(asked, "cuda", there)


def test_a_service_that_others_reach_is_not_updated_without_keys() -> None:
    with pytest.raises(BadSetting, match="0.0.0.0 can be reached from elsewhere: give --keys"):
        listening(SETTINGS, "0.0.0.0", 8000)
    with_keys = SETTINGS.model_copy(update={"keys": Path("keys")})
    there = listening(with_keys, "0.0.0.0", 8000)
    assert there == with_keys.model_copy(update={"host": "0.0.0.0", "port": 8000})


def config(now: str, before: str) -> dict[str, Any]:
    told = [[{"name": "a", "hash": hash_, "folder": f"/{hash_}"}] for hash_ in (now, before)]
    first = following(ASKED, told[1], None)
    return following(ASKED, told[0], first) | {"scale": {"least": 3, "most": 5}}


class Changes:
    """A fleet, and what it has replicas do."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.refusal, self.prepared, self.deployed = refusal, list[Any](), list[Any]()
        self.fleet = Fleet(Metrics(), lambda: None, self._prepare, self._deploy)
        self.fleet.adopt(config("2", "1"))

    async def _prepare(self, places: Any) -> Any:
        self.prepared.append(places)
        if self.refusal:
            raise self.refusal
        return [{"name": "a", "hash": "3", "folder": "/3"}]

    async def _deploy(self, new: Any) -> None:
        self.deployed.append(new)


def test_a_change_of_models_keeps_the_number_of_replicas() -> None:
    for change in (Fleet.reload, Fleet.roll_back):
        changes = Changes()
        assert asyncio.run(change(changes.fleet)) == ["a"]
        assert changes.deployed[0]["scale"] == {"least": 3, "most": 5}


def test_a_rollback_is_refused_where_a_replica_has_the_old_models_no_longer() -> None:
    changes = Changes(BadArtifact("written over"))
    with pytest.raises(BadArtifact):
        asyncio.run(changes.fleet.roll_back())
    assert changes.prepared == [config("2", "1")["before"]["places"]]
    assert not changes.deployed


def test_a_replica_takes_no_other_model_for_one_that_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ["1"]  # the hash of what lies there

    def load(places: Any, *_: Any) -> Any:
        read.append(folder[0])
        return {"a": SimpleNamespace(hash=folder[0], settle=lambda: None)}

    read = list[str]()
    monkeypatch.setattr(holding, "load_models", load)
    monkeypatch.setattr(holding, "described", lambda model: {"hash": model.hash, "folder": "/one"})
    old, new = holding.Holding("cpu", "auto"), holding.Holding("cpu", "auto")
    known = following(ASKED, old.load(ASKED), None)["now"]["places"]
    folder[0] = "2"
    assert old.load(known)[0]["hash"] == "1"
    assert read == ["1"]
    with pytest.raises(BadArtifact, match="/one was written over since a was served from it"):
        new.load(known)
    new.serve(known, [])  # a new replica has to answer with what there is, but says what it is
    with pytest.raises(BadArtifact, match="written over"):
        new.load(known)
    assert new["a"].hash == "2"
