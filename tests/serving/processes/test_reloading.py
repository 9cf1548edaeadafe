"""Reload and rollback: models change under load, and only to valid ones."""

import json
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
import torch
from safetensors.torch import load_file, save_file

from fansrec.api.continuer import load
from fansrec.artifact import WEIGHTS, seal
from fansrec.errors import BadArtifact
from fansrec.serving.http.keys import new_key
from fansrec.serving.processes.loaded_model import LoadedModel
from fansrec.serving.processes.loading import load_models
from fansrec.vocabulary import CATEGORIES_FILE
from serving.service import DEADLINE_S, Running, until

LISTS: list[list[object]] = [["i1", "i2"], ["i40"]]


@dataclass
class Changing:
    """A service whose model folder is a link."""

    service: Running
    link: Path
    admin: dict[str, str]
    runs: dict[str, Path]  # by hash

    def point_to(self, run: Path) -> None:
        new = self.link.with_name("next")
        new.symlink_to(run)
        new.replace(self.link)

    def post(self, what: str) -> httpx2.Response:
        return self.service.http.post(f"/v1/models/{what}", headers=self.admin)

    def hash(self) -> str:
        answer = self.service.http.post("/v1/continue", json={"lists": LISTS}, headers=self.admin).json()
        return str(answer["model"]["hash"])


@pytest.fixture(scope="module")
def changing(songs: Path, best: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Changing]:
    folder = tmp_path_factory.mktemp("serving")
    link, keys = folder / "current", folder / "keys"
    link.symlink_to(songs / "run")
    runs = {load(run).artifact.hash: run for run in (songs / "run", best)}
    admin = {"authorization": f"Bearer {new_key(keys, 'admin', 'admin')}"}
    with Running(f"fans={link}", "--keys", keys, "--workers", 2) as service:
        yield Changing(service, link, admin, runs)


def test_rollback_without_earlier_models_is_refused_as_what_it_is(changing: Changing) -> None:
    answer = changing.post("rollback")
    assert (answer.status_code, answer.json()["title"]) == (409, "Nothing to roll back to")
    assert "use reload instead" in answer.json()["detail"]


def test_reload_follows_the_link_and_rollback_returns(changing: Changing) -> None:
    first, second = changing.runs
    assert changing.hash() == first
    assert changing.post("reload").json()["changed"] == []
    changing.point_to(changing.runs[second])
    reloaded = changing.post("reload").json()
    assert reloaded == {"models": [{"name": "fans", "hash": second}], "changed": ["fans"]}
    assert changing.hash() == second
    assert changing.post("rollback").json()["models"][0]["hash"] == first == changing.hash()
    assert changing.post("rollback").json()["models"][0]["hash"] == second == changing.hash()
    assert changing.post("rollback").status_code == 200 and changing.hash() == first


def test_reload_under_load_loses_no_request_and_mixes_no_models(changing: Changing) -> None:
    alone = {
        value: [answer.items for answer in load(run).continue_lists(LISTS, 10)] for value, run in changing.runs.items()
    }
    assert len({str(items) for items in alone.values()}) == 2
    seen: dict[str, int] = dict.fromkeys(alone, 0)
    wrong: list[object] = []
    stop = threading.Event()

    def ask() -> None:
        with httpx2.Client(base_url=changing.service.url, headers=changing.admin, timeout=DEADLINE_S) as http:
            while not stop.is_set():
                response = http.post("/v1/continue", json={"lists": LISTS})
                answer = response.json()
                items = [[p["item"] for p in a["positions"]] for a in answer.get("answers", [])]
                value = answer.get("model", {}).get("hash")
                if response.status_code != 200 or items != alone[value]:
                    wrong.append((response.status_code, answer))
                else:
                    seen[value] += 1

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(4):
            changing_to, run = list(changing.runs.items())[(turn + 1) % 2]
            changing.point_to(run)
            before = dict(seen)
            assert changing.post("reload").status_code == 200
            assert until(lambda: seen[changing_to] > before[changing_to])  # noqa: B023
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == [] and min(seen.values()) > 0


def damaged(run: Path) -> None:
    content = bytearray((run / WEIGHTS).read_bytes())
    content[-1] ^= 1
    (run / WEIGHTS).write_bytes(content)


def truncated(run: Path) -> None:
    (run / WEIGHTS).write_bytes((run / WEIGHTS).read_bytes()[:-100])
    seal(run)


def of_another_shape(run: Path) -> None:
    weights = load_file(run / WEIGHTS)
    name = max(weights, key=lambda each: weights[each].ndim)
    save_file(weights | {name: weights[name][:-1].contiguous()}, run / WEIGHTS)
    seal(run)


def not_a_number(run: Path) -> None:
    weights = {name: tensor.clone() for name, tensor in load_file(run / WEIGHTS).items()}
    next(tensor for tensor in weights.values() if tensor.is_floating_point()).view(-1)[0] = torch.nan
    save_file(weights, run / WEIGHTS)
    seal(run)


def emptied(run: Path) -> None:
    shutil.rmtree(run)


def with_categories(run: Path, **changes: object) -> None:
    file = run / CATEGORIES_FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    seal(run)


def without_a_category_name(run: Path) -> None:
    with_categories(run, names=["c0", "c1", "c2"])


def with_ids_that_are_not_integers(run: Path) -> None:
    with_categories(run, integer_ids=True)


def with_a_category_name_that_is_not_text(run: Path) -> None:
    with_categories(run, names=["c0", "c1", "c2", "\ud800"])


UNANSWERABLE = [without_a_category_name, with_ids_that_are_not_integers, with_a_category_name_that_is_not_text]


@pytest.mark.parametrize("damage", [damaged, truncated, of_another_shape, not_a_number, emptied, *UNANSWERABLE])
def test_bad_model_is_refused_and_the_old_one_stays(
    changing: Changing, damage: Callable[[Path], None], tmp_path: Path
) -> None:
    before = changing.hash()
    bad = shutil.copytree(next(run for value, run in changing.runs.items() if value != before), tmp_path / "bad")
    damage(bad)
    changing.point_to(bad)
    refused = changing.post("reload")
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:fansrec:bad-artifact")
    assert changing.hash() == before
    assert changing.service.metric_as(changing.admin, 'fans_reloads_total{outcome="refused"}') > 0
    # A worker that dies now is forked from the models in memory, whatever the folder contains.
    victim = changing.service.workers()[0]
    os.kill(victim, signal.SIGKILL)
    assert until(lambda: victim not in (now := changing.service.workers()) and len(now) == 2)
    assert {changing.hash() for _ in range(6)} == {before}


@pytest.mark.parametrize("damage", UNANSWERABLE)
def test_model_whose_answers_cannot_be_formatted_is_refused_when_it_is_loaded(
    songs: Path, damage: Callable[[Path], None], tmp_path: Path
) -> None:
    bad = shutil.copytree(songs / "run", tmp_path / "bad")
    damage(bad)
    with pytest.raises(BadArtifact, match="bad"):
        load_models([{"name": "fans", "run": str(bad), "generation": None}], "cpu", "auto")


def test_answer_that_fails_is_reported_as_a_bad_model(songs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise ValueError("no JSON")

    monkeypatch.setattr(LoadedModel, "body", fail)
    with pytest.raises(BadArtifact, match="cannot answer a request .no JSON."):
        load_models([{"name": "fans", "run": str(songs / "run"), "generation": None}], "cpu", "auto")


def test_reload_and_rollback_need_an_admin_key(changing: Changing) -> None:
    user = new_key(changing.link.with_name("keys"), "user", "use")
    for what in ("reload", "rollback"):
        assert changing.service.http.post(f"/v1/models/{what}").status_code == 401
        headers = {"authorization": f"Bearer {user}"}
        assert until(lambda: changing.service.http.get("/v1/models", headers=headers).status_code == 200)  # noqa: B023
        assert changing.service.http.post(f"/v1/models/{what}", headers=headers).status_code == 403
    assert not any(user in line for line in changing.service.log)
