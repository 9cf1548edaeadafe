"""benchmarks/updates: models with and without an update on the same later lists."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from fansrec.artifact import Artifact

ROOT = Path(__file__).parents[2]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that imports a module of benchmarks/updates."""
    monkeypatch.syspath_prepend(str(ROOT))

    def imported(name: str) -> ModuleType:
        return importlib.import_module(f"benchmarks.updates.{name}")

    return imported


def walk(load: Any, id_: str, start: int, more: list[str] | None = None) -> Any:
    """Return a list of eight songs in order, in the world of the fixture `hybrid`, and more items."""
    return load("corpora").NamedList(id_, [f"i{(start + n) % 15}" for n in range(8)] + (more or []))


def test_items_count_by_their_ids_in_models_with_other_indices(load: Any) -> None:
    judge = load("judging").Judge.of([walk(load, "a", 0), walk(load, "b", 3, ["n", "m"])])
    answers = np.full((2, 10), -1)
    answers[0, 0] = judge.index["i4"]
    answers[1, 1] = judge.index["n"]
    whole, only = judge.metrics(answers), judge.metrics(answers, {"n", "unseen"})
    assert whole["HR@5"].tolist() == [1, 1]
    assert whole["recall@10"].tolist() == [1 / 4, 1 / 5]
    assert only["recall@10"].tolist() == [1]  # of the second list alone
    assert only["NDCG@5"] == pytest.approx(1 / np.log2(3))


def test_an_input_without_known_items_has_no_answer(load: Any, hybrid: Artifact) -> None:
    unknown = load("corpora").NamedList("u", ["x", "y", "i1", "i2"])
    answers = load("judging").Judge.of([unknown, walk(load, "a", 0)]).answers(hybrid)
    assert (answers[0] == -1).all() and (answers[1] >= 0).any()


def test_rows_compare_each_model_with_the_one_trained_again(
    load: Any, hybrid: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    quality = load("quality")

    class Trained:
        """The same model, whatever it is to be trained on."""

        def model(self, name: str, lists: list[Any], start: Path | None = None) -> Path:
            return hybrid.folder

    monkeypatch.setattr(quality, "times", lambda run: {"seconds": 1.0, "cpu_seconds": 1.0, "cores": 1})
    later = [walk(load, f"t{n}", n, ["new"]) for n in range(6)]
    new = [walk(load, f"n{n}", n, ["new"]) for n in range(6)]
    old = [walk(load, f"l{n}", n) for n in range(6)]
    first, last = quality.measured(Trained(), load("corpora").Periods(old, new, later))
    of = {(row["counted"], row["model"]): row for row in last if row["metric"] == "recall@10"}
    assert {row["model"] for row in first} == {"without update", "updated", "trained again"}
    assert of["all items", "started"]["percent_of_again"] == 100
    assert of["new items", "without update"]["mean"] == 0
    assert of["new items", "updated"]["mean"] > 0.5  # the new item ends every list that is new
    assert of["new items", "updated"]["lists"] == 6
