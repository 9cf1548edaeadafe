"""Re-ranking from Python, by what a trained model knows of its items."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from artifacts import write_kind
from fansrec.api.continuer import Continuer, load
from fansrec.artifact import read_artifact
from fansrec.engine.traits import ItemTraits
from fansrec.errors import BadSetting

LISTS = [["i1", "i2"], [], ["nobody"], ["i40"]]
CONTROLS = {"diversity": 0.6, "popularity": -0.4}


def test_every_list_gets_as_many_distinct_items(songs_model: Continuer) -> None:
    plain, controlled = (songs_model.continue_lists(LISTS, 6, **controls) for controls in ({}, CONTROLS))
    assert [len(set(one.items)) for one in controlled] == [6, 6, 0, 6]
    assert controlled != plain and controlled[2] == plain[2]


def test_answers_at_zero_are_those_without_controls(songs_model: Continuer) -> None:
    zeros = {"diversity": 0, "popularity": 0.0, "freshness": 0.0}
    assert songs_model.continue_lists(LISTS, 6, **zeros) == songs_model.continue_lists(LISTS, 6)


def test_values_that_are_not_numbers_are_refused(songs_model: Continuer) -> None:
    with pytest.raises(BadSetting, match="diversity is 'much'; it must be a number"):
        songs_model.continue_lists(LISTS, diversity="much")  # type: ignore[arg-type]


def test_arranged_answer_has_the_selected_items(best: Path) -> None:
    model = load(best)
    by_position, arranged = (
        model.continue_lists([["i20", "i21"], []], 8, fill=fill, **CONTROLS) for fill in ("by-position", "arranged")
    )
    assert [{*one.items} for one in arranged] == [{*one.items} for one in by_position]
    assert arranged != by_position


def test_controlled_answers_can_be_explained(best: Path) -> None:
    model = load(best)
    (plain,) = model.continue_lists([["i20", "i21"]], 8, **CONTROLS)
    (explained,) = model.continue_lists([["i20", "i21"]], 8, explain=True, **CONTROLS)
    assert explained.items == plain.items and all(position.explanation for position in explained.positions)


@pytest.mark.parametrize("kind", ["fans", "ease", "item-knn", "vstan", "popularity"])
def test_similarity_is_between_zero_and_one_and_that_of_an_item_to_itself_is_one(kind: str, tmp_path: Path) -> None:
    artifact = read_artifact(write_kind(tmp_path, kind))
    known = replace(artifact.vocabulary, groups=[f"g{n % 3}" for n in range(len(artifact.vocabulary))])
    items = np.array([4, 0, 7, 1])
    for vocabulary in (artifact.vocabulary, known):
        similarities = ItemTraits(artifact.stored, vocabulary, artifact.counts).similarities(items)
        for position in range(len(items)):
            similar = similarities(position)
            assert similar.min() >= 0 and similar.max() == pytest.approx(1) == similar[position]


def test_popularity_is_known_from_a_list_memory_alone(best: Path) -> None:
    artifact = read_artifact(best)
    known, remembered = (ItemTraits(artifact.stored, artifact.vocabulary, c) for c in (artifact.counts, None))
    assert known.popularity is not None and remembered.popularity is not None
    assert np.corrcoef(known.popularity, remembered.popularity)[0, 1] > 0.9
