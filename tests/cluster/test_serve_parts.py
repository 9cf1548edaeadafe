"""Parts of the service on Ray that need no Ray: lost calls, counts put together, settings without a meaning."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fansrec.cluster.serving.command import unheeded
from fansrec.cluster.serving.config import agreed, following
from fansrec.cluster.serving.counts import together
from fansrec.cluster.serving.slots import open_slots
from fansrec.errors import BadArtifact
from fansrec.server.edge.problems import Problem
from fansrec.server.metrics import Metrics
from fansrec.server.settings import ModelPlace, Settings
from fansrec.server.workers.dispatch import Dispatcher
from fansrec.server.workers.generations import Busy

SETTINGS = Settings(models=(ModelPlace(name="a", run=Path("a")),), workers=2)


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
        return await dispatcher.ask("a", b"question", 10, now - 1.5, now + 10).answer

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
    assert 1.5 <= ago < 5
    assert 5 < left <= 10


def test_counts_of_all_replicas_are_one_text_that_prometheus_reads() -> None:
    one, other = Metrics(), Metrics()
    for metrics, times in ((one, 3), (other, 4)):
        for _ in range(times):
            metrics.saw("/v1/continue", "POST", 200, 0.01)
    families = [*text_string_to_metric_families(together([("x", one.text()), ("y", other.text())]).decode())]
    assert len({family.name for family in families}) == len(families)
    [asked] = [family for family in families if family.name == "fans_http_requests"]
    assert {sample.labels["replica"]: sample.value for sample in asked.samples} == {"x": 3, "y": 4}


def test_what_replicas_found_must_be_the_same() -> None:
    good = {"models": [{"hash": "1", "folder": "/a"}]}
    assert agreed([good, good]) == good["models"]
    with pytest.raises(Busy, match="different models"):
        agreed([good, {"models": [{"hash": "2", "folder": "/a"}]}])
    with pytest.raises(BadArtifact, match="damaged"):
        agreed([good, {"refused": "BadArtifact", "detail": "damaged"}])


def test_models_are_pinned_to_what_a_link_led_to_and_the_old_ones_remembered() -> None:
    asked = [{"name": "a", "run": "/link", "generation": None}]
    first = following(asked, [{"hash": "1", "folder": "/one"}], None)
    second = following(asked, [{"hash": "2", "folder": "/two"}], first)
    assert second["asked"] == asked
    assert second["now"]["places"] == [{"name": "a", "run": "/two", "generation": None, "hash": "2"}]
    assert second["before"] == first["now"]


def test_settings_that_mean_nothing_on_ray_are_named() -> None:
    assert unheeded(SETTINGS.model_copy(update={"max_connections": 5})) == ["workers", "max_connections"]
