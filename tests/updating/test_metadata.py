"""benchmarks/updates/metadata.py: items of no list, of which group and name are known."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from fansrec.artifact import Artifact

ROOT = Path(__file__).parents[2]


@pytest.fixture
def metadata(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.updates.metadata")


def test_held_out_items_are_in_no_training_list_and_are_described(
    metadata: Any, hybrid: Artifact, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lists = [
        metadata.NamedList(f"l{n}", [f"i{n % 15}", f"i{(n + 1) % 15}", "new", f"i{(n + 2) % 15}", "new"])
        for n in range(20)
    ]
    items = {id_: {"group": "artist 1", "name": f"Song {id_}"} for one in lists for id_ in one.items}
    trained: list[Any] = []

    class Trained:
        """The same model, whatever it is to be trained on."""

        folder = tmp_path / "work"

        def model(self, name: str, lists: list[Any], items: Path) -> Path:
            trained.extend(lists)
            assert "new" not in items.read_text()
            return hybrid.folder

    monkeypatch.setattr(metadata, "times", lambda run: {})
    monkeypatch.setattr(metadata, "draw_items", lambda lists, seed: {"new"})
    rows = metadata.measured(Trained(), metadata.World(lists, items, ("group", "name")), 0)
    assert trained and not [one for one in trained if "new" in one.items]
    assert [row["known"] for row in rows] == ["group, name", "group", "name", ""]
    assert all(row["lists"] == 2 and row["random"] == 10 / 61 for row in rows)
    assert rows[-1]["mean"] == 0  # nothing is known


def test_the_same_seed_draws_the_same_items(metadata: Any) -> None:
    lists = [metadata.NamedList("l", [f"i{n}" for n in range(40)])]
    assert metadata.draw_items(lists, 3) == metadata.draw_items(lists, 3)
    assert len(metadata.draw_items(lists, 3)) == 2
