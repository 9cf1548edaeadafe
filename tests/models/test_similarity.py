"""Similar items of every model, by hand and by what a user expects of walks around circles of items."""

from pathlib import Path

import numpy as np
import pytest

from artifacts import KINDS, write_kind
from fansrec.artifact import read_artifact
from fansrec.errors import BadSetting
from fansrec.models.similarity import EMBEDDING, ItemSimilarity, most_similar

WITH_VECTORS = {"fans", "fans-vanilla", "best", "bert4rec", "bert4rec-nar", "sasrec", "gru4rec", "caser", "car"}
LEARNED = sorted(KINDS.keys() - WITH_VECTORS - {"popularity"})  # in closed form, so that they know the lists
ITEMS = 60


def similarity(folder: Path, kind: str) -> ItemSimilarity:
    return ItemSimilarity(read_artifact(write_kind(folder / kind, kind)).stored, ITEMS)


@pytest.mark.parametrize("kind", sorted(WITH_VECTORS))
def test_models_with_vectors_compare_them_by_their_cosine(tmp_path: Path, kind: str) -> None:
    found = similarity(tmp_path, kind)
    assert found.vectors is not None and found.vectors.shape[0] == ITEMS
    vectors = found.vectors.astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1)
    for item in (0, 17, 59):
        expected = vectors @ vectors[item] / lengths / lengths[item]
        assert found.scores(item) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", LEARNED)
def test_models_fitted_to_lists_find_items_of_the_same_lists(tmp_path: Path, kind: str) -> None:
    found = similarity(tmp_path, kind)
    assert found.vectors is None
    for item in (3, 20, 40, 59):
        similar = most_similar(found.scores(item), item, 4)  # every list stays in one category of 15 items
        assert len(similar) and {other // 15 for other in similar.tolist()} == {item // 15}


def test_vstan_compares_the_lists_of_items(tmp_path: Path) -> None:
    model = read_artifact(write_kind(tmp_path / "vstan", "vstan")).model
    memory = model.memory
    lists = np.zeros((len(memory), ITEMS))
    for number in range(len(memory)):
        lists[number, memory.items[memory.starts[number] : memory.starts[number + 1]].numpy()] = 1
    common = lists.T @ lists
    expected = common / np.sqrt(np.maximum(1, np.outer(common.diagonal(), common.diagonal())))
    found = ItemSimilarity(model, ITEMS)
    assert np.stack([found.scores(item) for item in range(ITEMS)]) == pytest.approx(expected)


def test_model_without_pairs_of_items_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="popularity has neither item vectors nor item-item weights"):
        similarity(tmp_path, "popularity").scores  # noqa: B018


def test_item_without_a_vector_is_similar_to_nothing(tmp_path: Path) -> None:
    found = similarity(tmp_path, "fans")
    vectors = np.array(found._arrays[EMBEDDING])
    vectors[5] = 0
    found._arrays = {EMBEDDING: vectors}
    assert not found.scores(5).any() and not len(most_similar(found.scores(5), 5, 3))


@pytest.mark.parametrize(
    ("scores", "item", "k", "expected"),
    [
        ([0.5, 1.0, 0.5, 0.9], 1, 3, [3, 0, 2]),  # equal ones by their index, and never the item itself
        ([0.5, 1.0, 0.5, 0.9], 1, 2, [3, 0]),
        ([0.5, -1.0, 0.0, 0.9], 3, 3, [0]),  # only what is similar
        ([0.5, 0.5, 0.5, 0.5], 0, 2, [1, 2]),
        ([0.0], 0, 1, []),
    ],
)
def test_most_similar_items_come_first(scores: list[float], item: int, k: int, expected: list[int]) -> None:
    assert most_similar(np.array(scores, dtype=np.float32), item, k).tolist() == expected
