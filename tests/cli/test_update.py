"""`fans update`: a model with new lists and items, without training."""

import json
import re
import runpy
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fansrec
from artifacts import change_json, song_lists, write_kind, write_songs
from fansrec.artifact import read_artifact
from fansrec.data.corpus import write_corpus
from fansrec.evaluation.rows import with_items_of

Fans = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a hybrid model of lists l0 to l39 and items i0 to i59; its corpus is beside it."""
    folder = tmp_path_factory.mktemp("songs")
    write_corpus(folder / "corpus", song_lists())
    return write_songs(folder / "run", "best")


@pytest.fixture
def update(fans: Fans, run: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Runs `fans update` to the folder `new` and returns its report."""

    def run_update(*options: object, of: Path = run, out: Path = tmp_path / "new") -> dict[str, Any]:
        code, printed, errors = fans("update", of, "--out", out, "--json", *options)
        assert code == 0, errors
        return dict(json.loads(printed))

    return run_update


def write_csv(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def new_lists(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "lists.csv", "list_id,item_id", "a,i1", "a,n1", "a,i2", "l3,i5", "l3,i6")


def test_report_is_a_table_with_notes(fans: Fans, run: Path, new_lists: Path, tmp_path: Path) -> None:
    removed = write_csv(tmp_path / "removed.txt", "l7", "", "not there")
    code, printed, _ = fans("update", run, "--lists", new_lists, "--remove", removed, "--out", tmp_path / "new")
    assert code == 0
    rows = [line.split() for line in printed.splitlines()]
    assert ["lists", "40", "1", "1", "1", "0", "40"] in rows
    assert ["items", "60", "1", "0", "0", "61"] in rows
    assert "list memory" in printed and "network" in printed
    assert "note: 1 list to remove is not in the model: 'not there'" in printed


def test_lists_are_added_replaced_and_removed(
    update: Callable[..., dict[str, Any]], new_lists: Path, tmp_path: Path
) -> None:
    removed = write_csv(tmp_path / "removed.txt", "l7")
    report = update("--lists", new_lists, "--remove", removed)
    names = read_artifact(tmp_path / "new").list_names
    assert names is not None and [*names.ids][-2:] == ["a", "l3"] and "l7" not in {*names.ids}
    assert (report["lists_before"], report["lists_added"], report["lists_replaced"], report["lists"]) == (40, 1, 1, 40)


def test_last_list_with_an_id_wins_if_a_file_has_the_id_several_times(fans: Fans, run: Path, tmp_path: Path) -> None:
    lists = [("l3", ["i5", "i6"]), ("z", ["i1", "i2"]), ("z", ["i7", "i8"])]
    new = write_csv(tmp_path / "lists.jsonl", *(json.dumps({"id": id_, "items": items}) for id_, items in lists))
    code, printed, errors = fans("update", run, "--lists", new, "--out", tmp_path / "new", "--json")
    assert code == 0 and "several lists have the same id (1 id)" in errors
    assert (json.loads(printed)["lists_added"], json.loads(printed)["lists_replaced"]) == (1, 1)
    names = read_artifact(tmp_path / "new").list_names
    assert names is not None and [*names.ids][-2:] == ["l3", "z"] and [*names.ids].count("l3") == 1
    removed = write_csv(tmp_path / "removed.txt", "z")
    code, printed, _ = fans("update", tmp_path / "new", "--remove", removed, "--out", tmp_path / "last", "--json")
    assert code == 0 and json.loads(printed)["lists_removed"] == 1


@pytest.mark.parametrize(("option", "content"), [("--remove", "list ids"), ("--items", "items"), ("--lists", "lists")])
def test_empty_file_is_refused_with_what_it_should_contain(
    fans: Fans, run: Path, tmp_path: Path, option: str, content: str
) -> None:
    for name in ("empty.txt", "empty.csv"):
        (tmp_path / name).touch()
        code, _, errors = fans("update", run, option, tmp_path / name, "--out", tmp_path / "new")
        assert code == 2 and f"{name} is empty; give a file that contains {content}\n" in errors


def test_numbers_of_one_are_printed_in_the_singular(fans: Fans, run: Path, tmp_path: Path) -> None:
    new = write_csv(tmp_path / "lists.csv", "list_id,item_id", "a,i1", "a,n1")
    items = write_csv(tmp_path / "items.csv", "item,category", "n1,other", "i3,c0")
    options = ("--lists", new, "--items", items)
    code, printed, _ = fans("update", run, *options, "--out", tmp_path / "new")
    words = " ".join(printed.split())
    assert code == 0 and "the category of 1 trained item cannot change" in words
    assert "the model does not have the category of 1 item" in words
    assert "composed for 1 item that was not trained" in words
    code, printed, _ = fans("update", run, "--keep-newest", 1, "--lists", new, "--out", tmp_path / "newest")
    assert code == 0 and "read: 1 change\n" in printed and re.search(r"list memory +updated +1 list *\n", printed)


def test_nothing_to_change_is_refused(fans: Fans, run: Path, tmp_path: Path) -> None:
    code, _, errors = fans("update", run, "--out", tmp_path / "new")
    assert code == 2 and "nothing to change; give --lists" in errors


def test_model_without_a_list_memory_is_refused(fans: Fans, new_lists: Path, tmp_path: Path) -> None:
    write_kind(tmp_path / "ease", "ease")
    code, _, errors = fans("update", tmp_path / "ease", "--lists", new_lists, "--out", tmp_path / "new")
    assert code == 2 and "cannot be updated" in errors and not (tmp_path / "new").exists()


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_several_updates_write_the_files_of_one_update(
    update: Callable[..., dict[str, Any]], new_lists: Path, tmp_path: Path
) -> None:
    items = write_csv(
        tmp_path / "items.csv", "item,name,artist,date", "n1,Song,artist 3,2026", "n2,Other,,", "i3,New name,,"
    )
    removed = write_csv(tmp_path / "removed.csv", "id", "a", "l9")
    update("--items", items, "--lists", new_lists, "--remove", removed, out=tmp_path / "once")
    update("--lists", new_lists, out=tmp_path / "first")
    update("--remove", removed, of=tmp_path / "first", out=tmp_path / "second")
    update("--items", items, of=tmp_path / "second", out=tmp_path / "third")
    assert files_of(tmp_path / "third") == files_of(tmp_path / "once")
    assert files_of(tmp_path / "second") != files_of(tmp_path / "once")


def test_removed_list_is_in_no_file(update: Callable[..., dict[str, Any]], new_lists: Path, tmp_path: Path) -> None:
    secret = write_csv(tmp_path / "secret.csv", "list_id,title,item_id", "x1,Hidden,i1", "x1,Hidden,secret item")
    removed = write_csv(tmp_path / "removed.txt", "x1")
    update("--lists", secret, out=tmp_path / "first")
    update("--lists", new_lists, of=tmp_path / "first", out=tmp_path / "second")
    report = update("--remove", removed, of=tmp_path / "second", out=tmp_path / "removed")
    update("--lists", new_lists, out=tmp_path / "never")
    assert (report["lists_removed"], report["items_removed"]) == (1, 1)
    assert files_of(tmp_path / "removed") == files_of(tmp_path / "never")
    assert any(b"secret item" in content for content in files_of(tmp_path / "second").values())


def test_training_list_is_removed_from_vstan_as_if_it_had_never_been_there(
    update: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    whole, without = write_songs(tmp_path / "whole", "vstan"), song_lists(without=[7])
    never = write_songs(tmp_path / "never", "vstan", without)
    removed = write_csv(tmp_path / "removed.txt", "l7")
    update("--remove", removed, of=whole, out=tmp_path / "removed")
    update("--keep-newest", 40, of=never, out=tmp_path / "updated")
    for folder in ("removed", "updated"):  # the fingerprint of the training corpus differs, and so the manifest
        change_json(tmp_path / folder, lambda config: config.pop("fingerprint"))
    assert files_of(tmp_path / "removed") == files_of(tmp_path / "updated")


def test_only_the_newest_lists_are_kept(update: Callable[..., dict[str, Any]], new_lists: Path, tmp_path: Path) -> None:
    report = update("--lists", new_lists, "--keep-newest", 3)
    names = read_artifact(tmp_path / "new").list_names
    assert names is not None and [*names.ids] == ["l39", "a", "l3"]
    assert (report["lists"], report["lists_dropped"]) == (3, 38)


@pytest.fixture(scope="session")
def updated(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model that was updated with a new item."""
    folder = tmp_path_factory.mktemp("updated") / "run"
    fansrec.update(run, folder, lists=[["i20", "i21", "new", "i22"]] * 3)
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "evaluate {updated} --corpus {corpus} --json {out}/rows.json",
        "continue {updated} i20 new -k 3",
        "continue {updated} --input {out}/lists.jsonl --output {out}/answers.jsonl",
        "export {updated} --format vectors --out {out}/vectors.npz",
        "export {updated} --out {out}/model.onnx",
        "bench latency --run {updated} --corpus {corpus} --lists 2 --seconds 0",
        "update {updated} --lists {out}/lists.jsonl --out {out}/again",
        "train {corpus} --start {updated} --out {out}/started --epochs 1 --no-compare",
    ],
    ids=lambda command: " ".join(word for word in command.split() if word.isalpha() or word == "--input"),
)
def test_updated_models_work_everywhere(fans: Fans, updated: Path, run: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "lists.jsonl").write_text('{"id": "q", "items": ["i20", "new"]}\n', encoding="utf-8")
    words = command.format(updated=updated, corpus=run.parent / "corpus", out=tmp_path).split()
    code, _, errors = fans(*words)
    assert code == 0, errors


def test_evaluated_lists_have_the_indices_of_the_updated_model(updated: Path) -> None:
    artifact, corpus = read_artifact(updated), song_lists()
    found = with_items_of(artifact, corpus)
    ids, before = [*artifact.vocabulary.ids], [*corpus.vocabulary.ids]
    assert [ids[item] for item in found.items] == [before[item] for item in corpus.items]
    assert found.items.tolist() != corpus.items.tolist()


def test_similar_items_of_an_updated_model_include_new_ones(updated: Path) -> None:
    model = fansrec.load(updated)
    (similar,) = model.similar_items(["new"], k=5)
    assert {"i20", "i21", "i22"} & {*similar.items}


def test_commands_of_the_how_to_run(fans: Fans, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "update-a-model.md").read_text(encoding="utf-8")
    text = re.sub(r"\bp(\d+)\b", r"l\1", re.sub(r"\bs(\d+)\b", r"i\1", text))  # the ids of this world
    shutil.copytree(run, tmp_path / "runs" / "mine")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)
    files = iter(("new.csv", "songs.csv", "removed.txt"))
    for language, block in blocks:
        if language in ("csv", "text"):
            Path(next(files)).write_text(block, encoding="utf-8")
        elif language == "sh":
            code, _, errors = fans(*shlex.split(block)[1:])
            assert code == 0, errors
        else:
            Path("example.py").write_text(block, encoding="utf-8")
            runpy.run_path("example.py")
    assert len(read_artifact(Path("runs/mine-5")).list_names or ()) == 30
    assert read_artifact(Path("runs/mine-6")).vocabulary.find("i902") is not None
    vocabulary = read_artifact(Path("runs/mine-4")).vocabulary
    assert vocabulary.category(vocabulary.find("i901") or 0) == "c1"
