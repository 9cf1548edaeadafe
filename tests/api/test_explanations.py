"""Explanations in Python answers: ids and names of items and lists."""

from pathlib import Path
from typing import Any

import pytest

from artifacts import write_kind, write_songs
from fansrec.api.answers import Answer
from fansrec.api.continuer import Continuer, load
from fansrec.artifact import read_artifact
from fansrec.errors import BadSetting
from fansrec.updating.changes import SetItem, SetList
from fansrec.updating.update import update


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Continuer:
    return load(write_songs(tmp_path_factory.mktemp("explained"), "best"))


def test_each_position_has_parts_reasons_and_lists(model: Continuer) -> None:
    (answer,) = model.continue_lists([["i3", "i4", "i5"]], k=5, explain=True)
    for position in answer.positions:
        found = position.explanation
        assert found is not None and set(found.parts) == {"network", "memory", "linear"}
        assert sum(found.parts.values()) == pytest.approx(1)
        assert {reason.item for reason in found.because} <= {"i3", "i4", "i5"}
        assert all(reason.name == f"Song number {reason.item[1:]}" for reason in found.because)
        assert all(one.id is not None and one.id.startswith("l") and one.shared > 0 for one in found.lists)
    assert any(p.explanation and p.explanation.because and p.explanation.lists for p in answer.positions)


def test_answers_are_the_same_with_and_without_explanations(model: Continuer) -> None:
    lists = [["i3", "i4"], [], ["unknown"], ["i20", "unknown", "i20"]]
    plain = model.continue_lists(lists, k=4, max_per_group=1)
    explained = model.continue_lists(lists, k=4, max_per_group=1, explain=True)
    assert [one.items for one in plain] == [one.items for one in explained]
    assert "explanation" not in plain[0].to_json()["positions"][0] and "explanations" not in plain[0].to_line()
    assert all(p.explanation for one in explained for p in one.positions)
    assert len(explained[3].to_line()["explanations"]) == 4


def test_explanation_survives_json(model: Continuer) -> None:
    (answer,) = model.continue_lists([["i3", "i4"]], k=3, explain=True)
    assert Answer.from_fields(answer.to_json()) == answer


def test_popular_items_have_no_explanation(model: Continuer) -> None:
    (answer,) = model.continue_lists([["unknown"]], k=3, fallback="popular", explain=True)
    assert len(answer.items) == 3 and not any(position.explanation for position in answer.positions)


def test_titles_of_lists_are_named(model: Continuer) -> None:
    artifact = model.artifact
    assert artifact.list_names is not None
    first = [artifact.vocabulary.id(i) for i in artifact.stored.arrays["memory.items"][:4].tolist()]  # type: ignore[union-attr]
    (answer,) = model.continue_lists([first], k=20, explain=True, keep_seen=True)
    named = {(one.id, one.title) for p in answer.positions if p.explanation for one in p.explanation.lists}
    assert ("l0", "First") in named


def test_score_without_votes_comes_from_popularity(tmp_path: Path) -> None:
    model = load(write_songs(tmp_path / "run", "vstan"))
    (answer,) = model.continue_lists([["i3", "i4"]], k=58, explain=True)
    parts = [position.explanation.parts for position in answer.positions if position.explanation]
    assert len(parts) == 58 and all(sum(one.values()) == pytest.approx(1) for one in parts)
    assert parts[0] == {"memory": 1} and parts[-1] == {"memory": 0, "popularity": 1}


def test_models_without_explanations_are_refused(tmp_path: Path) -> None:
    model = Continuer(read_artifact(write_kind(tmp_path / "run", "popularity")))
    with pytest.raises(BadSetting, match="popularity cannot explain its answers; leave out explain"):
        model.continue_lists([["i1"]], explain=True)


def test_updated_model_explains_new_items_and_names_new_lists(model: Continuer) -> None:
    lists = [SetList(f"new {n}", ("i3", "i4", "n1"), f"New list {n}") for n in range(6)]
    changed = Continuer(update(model.artifact, [*lists, SetItem("n1", name="New song")])[0])
    (answer,) = changed.continue_lists([["i3", "i4"]], k=3, explain=True)
    position = next(position for position in answer.positions if position.item == "n1")
    assert position.explanation is not None
    assert {reason.item for reason in position.explanation.because} <= {"i3", "i4"} and position.explanation.because
    assert {one.title for one in position.explanation.lists} <= {f"New list {n}" for n in range(6)}
    assert all(one.shared == 2 for one in position.explanation.lists) and position.explanation.lists
    (answer,) = changed.continue_lists([["n1"]], k=3, explain=True)
    assert {reason.item for p in answer.positions if p.explanation for reason in p.explanation.because} == {"n1"}


def test_item_that_is_in_no_list_yet_has_no_lists(model: Continuer) -> None:
    described = Continuer(update(model.artifact, [SetItem("n2", name="New song", group="artist 0", category="c0")])[0])
    (answer,) = described.continue_lists([["i3", "i4"]], k=1, allow=["n2"], explain=True)
    found = answer.positions[0].explanation
    assert found is not None and found.because and found.parts["memory"] > 0 and not found.lists


@pytest.mark.parametrize(
    "rules",
    [
        {"exclude": ["i6"], "max_per_group": 1, "keep_seen": True},
        {"diversity": 0.5},
        {"categories": ["c1"], "min_score": 0.01},
        {"fill": "arranged"},
    ],
    ids=str,
)
def test_explanations_under_rules_are_of_the_scores_without_them(model: Continuer, rules: dict[str, Any]) -> None:
    (given,) = [["i3", "i4", "i5", "i4"]]
    (answer,) = model.continue_lists([given], k=4, explain=True, **rules)
    everything = model.continue_lists([given], k=4, allow=answer.items, keep_seen=True, explain=True)[0].positions
    plain = {position.item: position.explanation for position in everything}
    for position in answer.positions:
        assert position.explanation is not None and plain[position.item] is not None
        assert position.explanation.parts == pytest.approx(plain[position.item].parts, abs=1e-4)  # type: ignore[union-attr]


def test_longest_possible_list_is_explained(model: Continuer) -> None:
    longest = model.artifact.stored.longest_sequence()
    assert longest is not None
    (answer,) = model.continue_lists([[f"i{n % 60}" for n in range(longest - 2)]], k=2, explain=True, keep_seen=True)
    assert all(position.explanation for position in answer.positions)
