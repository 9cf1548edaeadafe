"""`fans update`: a model with new lists and items, without training."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from artifacts import write_kind, write_songs
from fansrec.artifact import read_artifact

Fans = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a hybrid model of lists l0 to l39 and items i0 to i59."""
    return write_songs(tmp_path_factory.mktemp("songs") / "run", "best")


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
    assert "note: 1 lists to remove are not in the model: 'not there'" in printed


def test_lists_are_added_replaced_and_removed(
    update: Callable[..., dict[str, Any]], new_lists: Path, tmp_path: Path
) -> None:
    removed = write_csv(tmp_path / "removed.txt", "l7")
    report = update("--lists", new_lists, "--remove", removed)
    names = read_artifact(tmp_path / "new").list_names
    assert names is not None and [*names.ids][-2:] == ["a", "l3"] and "l7" not in {*names.ids}
    assert (report["lists_before"], report["lists_added"], report["lists_replaced"], report["lists"]) == (40, 1, 1, 40)


def test_nothing_to_change_is_refused(fans: Fans, run: Path, tmp_path: Path) -> None:
    code, _, errors = fans("update", run, "--out", tmp_path / "new")
    assert code == 2 and "nothing to change; give --lists" in errors


def test_model_without_a_list_memory_is_refused(fans: Fans, new_lists: Path, tmp_path: Path) -> None:
    write_kind(tmp_path / "ease", "ease")
    code, _, errors = fans("update", tmp_path / "ease", "--lists", new_lists, "--out", tmp_path / "new")
    assert code == 2 and "cannot be updated" in errors and not (tmp_path / "new").exists()
