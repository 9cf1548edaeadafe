"""Written lists and items reach every worker, and are there after restarts, reloads, rollbacks and kills."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from artifacts import reseal
from fansrec.api.continuer import Continuer
from fansrec.artifact import read_artifact
from fansrec.serving.writes.records import read_lines
from fansrec.serving.writes.store import FILE
from fansrec.updating.records import from_json
from fansrec.updating.update import update
from serving.service import Running, descendants, until
from serving.writes.conftest import Writing


def visible(writing: Writing, seq: int) -> None:
    """Wait until all models that take writes have one."""
    assert until(lambda: all(m["seq"] is None or m["seq"] >= seq for m in writing.models().values()))


def answers(writing: Writing, model: str, *lists: list[Any], k: int = 10) -> list[list[Any]]:
    found = writing.send("POST", "/v1/continue", "use", json={"lists": lists, "model": model, "k": k})
    assert found.status_code == 200, found.text
    return [[position["item"] for position in answer["positions"]] for answer in found.json()["answers"]]


def updated(writing: Writing, run: Path) -> Continuer:
    """Return the model of a folder after all writes in the log."""
    lines = read_lines(writing.folder / FILE)
    changes = [from_json(change) for line in lines for change in line.record.get("changes", ())]
    return Continuer(update(read_artifact(run), changes)[0])


@pytest.mark.parametrize("model", ["best", "vstan"])
def test_written_lists_and_items_change_answers_as_an_update_of_the_artifact_does(
    writing: Writing, models: Path, model: str
) -> None:
    writing.write(f"{model}-1", ["new song", "i1", "i2"])
    writing.write(f"{model}-2", ["i40", "new song", f"only {model}"], title="two")
    writing.send("POST", "/v1/items", json={"items": [{"id": "new song", "name": "A new song"}]})
    seq = writing.send("DELETE", f"/v1/lists/{model}-1").json()["seq"]
    visible(writing, seq)
    expected = updated(writing, models / model)
    lists = [["i40"], ["A new song"], ["i1", "i2"], [f"only {model}"]]
    assert answers(writing, model, *lists) == [answer.items for answer in expected.continue_lists(lists)]
    described = writing.models()[model]
    assert (described["hash"], described["items"]) == (expected.artifact.hash, len(expected.vocabulary))
    assert "new song" in answers(writing, model, [f"only {model}"])[0]


def test_every_worker_has_what_is_visible(writing: Writing, models: Path) -> None:
    seq = writing.write("all workers", ["everywhere", "i3", "i4"])
    visible(writing, seq)
    hash = writing.models()["vstan"]["hash"]
    ask = {"lists": [["everywhere"]], "model": "vstan"}
    found = [writing.send("POST", "/v1/continue", json=ask).json()["model"]["hash"] for _ in range(20)]
    assert set(found) == {hash}
    assert len(writing.running.workers()) == 2


def test_model_without_a_list_memory_stays_as_it_is(writing: Writing, models: Path) -> None:
    before = writing.models()["ease"]
    visible(writing, writing.write("not for ease", ["i1", "not in ease"]))
    assert writing.models()["ease"] == before and before["seq"] is None


def test_service_whose_models_cannot_be_updated_refuses_writes(
    models: Path, key_file: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    with Running(models / "ease", "--writes", tmp_path, "--keys", key_file[0], "--workers", 1) as running:
        writing = Writing(running, tmp_path, key_file[1])
        refused = writing.send("POST", "/v1/lists", json={"lists": [{"id": "p", "items": ["i1"]}]})
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:fansrec:not-updatable")
        assert writing.send("DELETE", "/v1/lists/p").status_code == 409


@pytest.fixture(scope="module")
def own(
    models: Path, key_file: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Writing]:
    """A service whose model is behind a link, so that another model can take its place."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "current").symlink_to(models / "vstan")
    shutil.copytree(models / "vstan", folder / "other")
    (folder / "other" / "README.md").write_text("another model\n")
    reseal(folder / "other")
    options = f"m={folder / 'current'}", "--writes", folder / "writes", "--keys", key_file[0], "--workers", 2
    with Running(*options) as running:
        yield Writing(running, folder / "writes", key_file[1])


def switch(writing: Writing, run: Path) -> None:
    link = writing.folder.parent / "current"
    link.unlink()
    link.symlink_to(run)


def check_answers(writing: Writing, run: Path) -> None:
    """Assert that the service answers like the model of a folder after all writes in the log."""
    expected, lists = updated(writing, run), [["i1"], ["n1"], ["n2", "i5"]]
    assert answers(writing, "m", *lists) == [answer.items for answer in expected.continue_lists(lists)]
    assert writing.models()["m"]["hash"] == expected.artifact.hash


def test_reload_and_rollback_keep_what_was_written(own: Writing, models: Path) -> None:
    own.write("p1", ["n1", "i1", "i2"])
    switch(own, own.folder.parent / "other")
    assert own.send("POST", "/v1/models/reload", "admin").json()["changed"] == ["m"]
    check_answers(own, own.folder.parent / "other")
    visible(own, own.write("p2", ["n2", "i5", "n1"]))
    check_answers(own, own.folder.parent / "other")
    assert own.send("POST", "/v1/models/rollback", "admin").json()["changed"] == ["m"]
    check_answers(own, models / "vstan")  # also with the list that was written to the other model
    assert own.send("POST", "/v1/models/rollback", "admin").status_code == 200
    switch(own, models / "vstan")
    assert own.send("POST", "/v1/models/reload", "admin").json()["changed"] == ["m"]
    assert own.send("POST", "/v1/models/reload", "admin").json()["changed"] == []
    check_answers(own, models / "vstan")


@pytest.mark.parametrize("victim", ["worker", "model host", "supervisor"])
def test_kill_of_any_process_loses_nothing(own: Writing, models: Path, victim: str) -> None:
    processes = dict(descendants(own.running.process.pid))
    worker = own.running.workers()[0]
    killed = {"worker": worker, "model host": processes[worker], "supervisor": processes[processes[worker]]}[victim]
    own.write("p3", ["n1", "i7", victim])
    os.kill(killed, signal.SIGKILL)
    seq = own.write("p4", ["n2", "i8", victim])
    visible(own, seq)
    check_answers(own, models / "vstan")
    ready = 'fans_workers{state="ready"}'
    assert until(lambda: own.running.metric_as(own.headers("metrics"), ready) == 2)


def test_restart_applies_what_was_written(own: Writing, models: Path, key_file: tuple[Path, dict[str, str]]) -> None:
    own.write("p5", ["n3", "i9"])
    os.kill(own.running.process.pid, signal.SIGKILL)
    own.running.process.wait()
    with Running(f"m={models / 'vstan'}", "--writes", own.folder, "--keys", key_file[0], "--workers", 1) as running:
        again = Writing(running, own.folder, own.keys)
        check_answers(again, models / "vstan")
        assert answers(again, "m", ["n3"])[0][0] == "i9"
