"""`similar_items` and `item_vectors` of the Python API."""

from pathlib import Path

import numpy as np
import pytest

from artifacts import write_kind
from fansrec.api.continuer import Continuer, load
from fansrec.errors import BadSetting, UnknownItems


def test_each_item_gets_its_most_similar_ones(songs_model: Continuer) -> None:
    first, second = songs_model.similar_items(["i3", "song 20"], 4)
    ids, vectors = songs_model.item_vectors()
    cosines = vectors @ vectors[3] / np.linalg.norm(vectors, axis=1) / np.linalg.norm(vectors[3])
    best = [index for index in np.argsort(-cosines).tolist() if index != 3][:4]
    assert first.items == [ids[index] for index in best]
    assert [p.score for p in first.positions] == pytest.approx(cosines[best])
    assert first.positions[0].name == f"Song {best[0]}" and first.reason is None
    assert "i20" not in second.items and second == songs_model.similar_items(["i20"], 4)[0]


def test_unknown_item_gets_a_reason_beside_others_and_is_refused_alone(songs_model: Continuer) -> None:
    unknown, known = songs_model.similar_items(["snog 12", "i1"], 2)
    assert (unknown.items, unknown.unknown) == ([], ["snog 12"])
    assert unknown.reason == "the item is not known to this model; did you mean 'Song 12'?"
    assert len(known.items) == 2
    with pytest.raises(UnknownItems, match="the item is not known to this model: nobody"):
        songs_model.similar_items(["nobody"])


def test_answer_says_that_fewer_items_are_similar(tmp_path: Path) -> None:
    (answer,) = load(write_kind(tmp_path / "run", "item-knn")).similar_items(["i3"], 59)
    assert 0 < len(answer.items) < 59
    assert answer.reason == f"only {len(answer.items)} of 59 items are similar to this one"


def test_vectors_are_a_copy(songs_model: Continuer) -> None:
    ids, vectors = songs_model.item_vectors()
    assert ids == [f"i{n}" for n in range(60)] and vectors.dtype == np.float32
    vectors[:] = 0
    assert songs_model.item_vectors().vectors.any()


def test_models_without_vectors_are_refused(tmp_path: Path) -> None:
    ease = load(write_kind(tmp_path / "ease", "ease"))
    with pytest.raises(BadSetting, match="EASE has no item vectors; use a model that has them"):
        ease.item_vectors()
    popularity = load(write_kind(tmp_path / "popularity", "popularity"))
    with pytest.raises(BadSetting, match="knows no similar items; use another model"):
        popularity.similar_items(["nobody"])
