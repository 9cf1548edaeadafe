"""Folding a log into a new artifact: nothing is applied twice, nothing is lost, also while a service writes."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fansrec.artifact import Artifact, read_artifact
from fansrec.errors import BadArtifact, BadInput, BadSetting
from fansrec.serving.processes.live_models import LiveModels
from fansrec.serving.writes.compaction import compact
from fansrec.serving.writes.folder import locked_folder
from fansrec.serving.writes.log import open_log
from fansrec.serving.writes.reader import LogReader
from fansrec.serving.writes.records import recover
from fansrec.serving.writes.store import DROP_FILE, FILE
from fansrec.updating.changes import Change, RemoveList, SetItem, SetList
from fansrec.updating.records import to_json
from fansrec.updating.update import update, write_updated
from serving.service import Running, until
from serving.writes.conftest import Writing

CHANGES: list[Change] = [
    SetList("a", ("new", "i1")),
    SetItem("new", name="New"),
    SetList("b", ("i2", "new", "other")),
    RemoveList("a"),
    SetList("c", ("i3", "i4")),
]


def write(folder: Path, *groups: list[Change]) -> None:
    """Append records of one change each; those of a group are synchronized together."""
    folder.mkdir(exist_ok=True)
    log = open_log(folder / FILE)
    for group in groups:
        log.append([json.dumps({"changes": [to_json(change)]}).encode() for change in group])
    log.close()


def drop(folder: Path, after: int) -> None:
    log = open_log(folder / FILE)
    log.drop(after)
    log.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "folder", CHANGES[:2], CHANGES[2:])
    return tmp_path / "folder"


def assert_same_model(one: Artifact, other: Artifact) -> None:
    arrays, expected = one.stored.arrays, other.stored.arrays  # type: ignore[union-attr]
    assert arrays.keys() == expected.keys()
    assert all(np.array_equal(arrays[name], expected[name]) for name in arrays)
    assert [*one.vocabulary.ids] == [*other.vocabulary.ids]
    assert one.list_names is not None and other.list_names is not None
    assert [*one.list_names.ids] == [*other.list_names.ids]
    assert [*(one.list_names.titles or ())] == [*(other.list_names.titles or ())]


def host(run: Path, folder: Path, last: int) -> LiveModels:
    specs = [{"name": "m", "run": run, "generation": None}]
    order = {"models": specs, "device": "cpu", "backend": "auto", "log": str(folder / FILE), "last": last}
    return LiveModels(order)


def live(run: Path, folder: Path, last: int) -> Artifact:
    """Return the model of a folder as a service serves it, after the writes up to a number."""
    return host(run, folder, last).loaded["m"].continuer.artifact


@pytest.mark.parametrize("model", ["best", "vstan"])
def test_compacted_model_is_that_of_an_update_and_nothing_is_applied_twice(
    models: Path, folder: Path, tmp_path: Path, model: str
) -> None:
    done = compact(folder, models / model, tmp_path / "out")
    assert (done.seq, done.folded, done.left, done.dropped) == (5, 5, 0, "kept")
    compacted = read_artifact(tmp_path / "out")
    assert_same_model(compacted, update(read_artifact(models / model), CHANGES)[0])
    assert live(tmp_path / "out", folder, 5).hash == compacted.hash  # no write was left to apply
    write(folder, [SetList("b", ("i9", "i8"))])
    assert_same_model(live(tmp_path / "out", folder, 6), live(models / model, folder, 6))
    again = compact(folder, tmp_path / "out", tmp_path / "again")
    assert (again.seq, again.folded) == (6, 1)


def test_dropped_writes_are_gone_and_later_ones_stay(models: Path, folder: Path, tmp_path: Path) -> None:
    compact(folder, models / "vstan", tmp_path / "out")
    size = (folder / FILE).stat().st_size
    drop(folder, 5)
    assert (folder / FILE).stat().st_size < size / 4
    write(folder, [SetList("d", ("i9", "i8"))])
    expected = update(read_artifact(models / "vstan"), [*CHANGES, SetList("d", ("i9", "i8"))])[0]
    assert_same_model(live(tmp_path / "out", folder, 6), expected)
    with pytest.raises(BadArtifact, match=r"no writes up to number 5"):
        live(models / "vstan", folder, 6)
    trained = compact(folder, models / "vstan", tmp_path / "trained", contains=5)
    assert (trained.seq, trained.folded) == (6, 1)
    assert_same_model(
        live(tmp_path / "trained", folder, 6),
        update(read_artifact(models / "vstan"), [SetList("d", ("i9", "i8"))])[0],
    )


def test_writes_that_may_not_be_synchronized_are_left_out_while_a_service_writes(
    models: Path, folder: Path, tmp_path: Path
) -> None:
    with locked_folder(folder):
        done = compact(folder, models / "vstan", tmp_path / "out", drop=True)
    assert (done.seq, done.left, done.dropped) == (2, 3, "requested")
    assert open_log(folder / FILE).last == 5 and (folder / DROP_FILE).is_file()


def test_last_writes_of_an_idle_writer_are_folded_while_it_runs(models: Path, folder: Path, tmp_path: Path) -> None:
    log = open_log(folder / FILE)
    log.mark_synced()
    log.close()
    done = compact(folder, models / "vstan", tmp_path / "out", copied=True)
    assert (done.seq, done.folded, done.left) == (5, 5, 0)
    assert_same_model(read_artifact(tmp_path / "out"), update(read_artifact(models / "vstan"), CHANGES)[0])
    assert_same_model(live(models / "vstan", folder, 5), read_artifact(tmp_path / "out"))


def test_position_of_a_model_is_never_lowered(models: Path, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "older").mkdir()
    lines = (folder / FILE).read_bytes().splitlines(keepends=True)
    (tmp_path / "older" / FILE).write_bytes(b"".join(lines[:3]))
    compact(folder, models / "vstan", tmp_path / "out")
    for copied in (False, True):
        with pytest.raises(BadInput, match="contains writes up to number 5, but the log ends at 2"):
            compact(tmp_path / "older", tmp_path / "out", tmp_path / "again", copied=copied)
    done = compact(folder, tmp_path / "out", tmp_path / "again", copied=True)  # only 2 are known to be synchronized
    assert (done.seq, done.folded, done.left) == (5, 0, 0)
    assert read_artifact(tmp_path / "again").config["writes"]["seq"] == 5


def test_copy_that_ends_in_the_middle_of_a_record_is_folded_up_to_the_last_sure_write(
    models: Path, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / FILE).write_bytes((folder / FILE).read_bytes()[:-3])
    done = compact(tmp_path / "copy", models / "vstan", tmp_path / "out", copied=True)
    assert (done.seq, done.left) == (2, 2)
    shutil.copy(folder / FILE, tmp_path / "copy")
    write(tmp_path / "copy", [SetList("e", ("i1", "i2"))])
    again = compact(tmp_path / "copy", tmp_path / "out", tmp_path / "again", copied=True)
    assert (again.seq, again.folded, again.left) == (5, 3, 1)
    assert_same_model(read_artifact(tmp_path / "again"), update(read_artifact(models / "vstan"), CHANGES)[0])
    with pytest.raises(BadSetting, match="drop cannot remove"):
        compact(tmp_path / "copy", tmp_path / "out", tmp_path / "third", drop=True, copied=True)


def test_log_that_lost_its_end_is_refused_by_a_model_that_contains_it(
    models: Path, folder: Path, tmp_path: Path
) -> None:
    compact(folder, models / "vstan", tmp_path / "out")
    lines = (folder / FILE).read_bytes().splitlines(keepends=True)
    (folder / FILE).write_bytes(b"".join(lines[:3]))
    with pytest.raises(BadArtifact, match="up to number 5, but the log ends at 2"):
        live(tmp_path / "out", folder, 2)


def test_model_host_applies_what_follows_after_the_log_was_rewritten(models: Path, folder: Path) -> None:
    found = host(models / "vstan", folder, 2)
    drop(folder, 2)
    found.apply(5)
    expected = update(read_artifact(models / "vstan"), CHANGES)[0]
    assert_same_model(found.loaded["m"].continuer.artifact, expected)
    drop(folder, 5)
    write(folder, [CHANGES[0]], [CHANGES[1]])
    drop(folder, 6)
    with pytest.raises(BadArtifact, match="does not contain those after 5"):
        found.apply(7)


def test_model_that_cannot_take_writes_any_more_is_refused_when_it_is_loaded(
    models: Path, folder: Path, tmp_path: Path
) -> None:
    updated, _ = update(read_artifact(models / "best"), [SetList("a", ("i1", "i2"))])
    section = {key: value for key, value in updated.config["updates"].items() if key != "trained_lists"}
    write_updated(tmp_path / "run", replace(updated, config=updated.config | {"updates": section}))
    with pytest.raises(BadArtifact, match="'trained_lists' is missing.*update the model again"):
        host(tmp_path / "run", folder, 0)


def test_log_may_be_replaced_at_any_moment_while_it_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = LogReader(folder / FILE)
    assert [record["seq"] for record in reader.read(3)] == [1, 2, 3]
    real = os.path.samestat

    def samestat(one: os.stat_result, other: os.stat_result) -> bool:
        found = real(one, other)
        drop(folder, 2)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(os.path, "samestat", samestat)
        assert [record["seq"] for record in reader.read(4)] == [4]
    assert [record["seq"] for record in reader.read(5)] == [5]


def test_removal_of_all_lists_waits_for_a_later_list(models: Path, tmp_path: Path) -> None:
    artifact = read_artifact(models / "vstan")
    assert artifact.list_names is not None
    removals: list[Change] = [RemoveList(str(id)) for id in artifact.list_names.ids]
    write(tmp_path / "folder", removals)
    found = host(models / "vstan", tmp_path / "folder", len(removals))
    assert found.loaded["m"].continuer.artifact.hash == artifact.hash
    write(tmp_path / "folder", [SetList("only", ("i1", "i2"))])
    found.apply(len(removals) + 1)
    assert found.loaded["m"].continuer.artifact.remembered_lists == 1


def test_reader_reports_a_log_that_ends_early(folder: Path) -> None:
    reader = LogReader(folder / FILE)
    assert [record["seq"] for record in reader.read(3)] == [1, 2, 3]
    with pytest.raises(BadArtifact, match="ends at number 5 instead of 6"):
        [*reader.read(6)]


def test_compact_refuses_what_it_cannot_use(models: Path, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"has no writes\.log"):
        compact(tmp_path, models / "vstan", tmp_path / "out")
    with pytest.raises(BadSetting, match="without a list memory"):
        compact(folder, models / "ease", tmp_path / "out")
    with pytest.raises(BadSetting, match="contains is 6, but the log has writes up to 5"):
        compact(folder, models / "vstan", tmp_path / "out", contains=6)
    assert not (tmp_path / "out").exists()
    before = sorted((models / "vstan").iterdir())
    with pytest.raises(BadSetting, match="is inside the folder of the model"):
        compact(folder, models / "vstan", models / "vstan" / "inner")
    assert sorted((models / "vstan").iterdir()) == before


def test_service_drops_what_the_reloaded_model_contains(
    models: Path, key_file: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    from typer.testing import CliRunner

    from fansrec.cli.main import app

    (tmp_path / "current").symlink_to(models / "vstan")
    folder = tmp_path / "folder"
    with Running(f"m={tmp_path / 'current'}", "--writes", folder, "--keys", key_file[0], "--workers", 1) as running:
        writing = Writing(running, folder, key_file[1])
        for n in range(30):
            writing.write(f"p{n}", ["new", f"i{n}"])
        assert until(lambda: writing.models()["m"]["seq"] == 30 and recover(folder / FILE).synced == 30)
        arguments = "compact", folder, tmp_path / "current", "--out", tmp_path / "out", "--drop", "--json"
        done = CliRunner().invoke(app, [*map(str, arguments)])
        assert done.exit_code == 0, done.output
        report: dict[str, Any] = json.loads(done.stdout)
        assert (report["seq"], report["left"], report["dropped"]) == (30, 0, "requested")
        before = writing.send("GET", "/v1/models").json()
        (tmp_path / "current").unlink()
        (tmp_path / "current").symlink_to(tmp_path / "out")
        assert writing.send("POST", "/v1/models/reload", "admin").json()["changed"] == ["m"]
        after = writing.send("GET", "/v1/models").json()
        assert after["writes"]["bytes"] < before["writes"]["bytes"] / 5 and after["writes"]["seq"] == 30
        assert after["models"][0]["items"] == before["models"][0]["items"]
        assert not (folder / DROP_FILE).exists()
        seq = writing.write("p30", ["newer", "i1"])
        assert seq == 31 and until(lambda: writing.models()["m"]["seq"] == 31)
        assert writing.send("POST", "/v1/models/rollback", "admin").status_code == 200
        assert writing.models()["m"]["items"] == after["models"][0]["items"] + 1
    with Running(f"m={tmp_path / 'out'}", "--writes", folder, "--keys", key_file[0], "--workers", 1) as running:
        assert Writing(running, folder, key_file[1]).models()["m"]["items"] == after["models"][0]["items"] + 1


def test_service_drops_at_its_start_what_all_of_its_models_contain(
    models: Path, key_file: tuple[Path, dict[str, str]], folder: Path, tmp_path: Path
) -> None:
    options = "--writes", folder, "--keys", key_file[0], "--workers", 1
    for model in ("best", "vstan"):
        assert compact(folder, models / model, tmp_path / model, drop=True).dropped == "requested"
        assert recover(folder / FILE).header.record["after"] == 0  # another model may lack the writes
        vstan = (models if model == "best" else tmp_path) / "vstan"
        with Running(f"m={tmp_path / 'best'}", f"v={vstan}", *options) as running:
            found = Writing(running, folder, key_file[1]).models()
            assert {name: found[name]["seq"] for name in found} == {"m": 5, "v": 5}
    assert recover(folder / FILE).header.record["after"] == 5 and not (folder / DROP_FILE).exists()
