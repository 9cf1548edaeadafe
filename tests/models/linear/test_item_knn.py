from typing import Any

import numpy as np
import pytest
import torch

from fansrec.errors import BadSetting
from fansrec.models.linear.cooccurrence import Cooccurrence
from fansrec.models.linear.item_knn import ItemKnn, ItemKnnConfig
from worlds import walks

LISTS = [[0, 1], [1, 0, 0, 2], [2, 3]]
EMPTY = np.array([], dtype=np.int64)


def fitted(lists: list[list[int]], items: int, **settings: Any) -> ItemKnn:
    model = ItemKnn(ItemKnnConfig((0, items), **settings))
    model.fit(np.concatenate(lists).astype(np.int32), np.cumsum([0, *map(len, lists)]))
    return model


def scores(model: ItemKnn, *items: int) -> list[float]:
    return model.score_next([np.array(items)])[0].tolist()


@pytest.mark.parametrize("neighbours", [0, 3])
def test_weight_is_the_cosine_of_list_vectors(neighbours: int) -> None:
    model = fitted(LISTS, 4, neighbours=neighbours)
    assert scores(model, 0) == pytest.approx([0, 1, 0.5, 0], abs=1e-6)  # 0 and 1 share both their lists
    assert scores(model, 2) == pytest.approx([0.5, 0.5, 0, 0.5**0.5], abs=1e-6)


@pytest.mark.parametrize("neighbours", [0, 3])
def test_jaccard_is_lists_with_both_over_lists_with_either(neighbours: int) -> None:
    model = fitted(LISTS, 4, similarity="jaccard", neighbours=neighbours)
    assert scores(model, 0) == pytest.approx([0, 1, 1 / 3, 0], abs=1e-6)


@pytest.mark.parametrize("neighbours", [0, 3])
def test_conditional_similarity_by_hand(neighbours: int) -> None:
    model = fitted(LISTS, 4, similarity="conditional", popularity_exponent=0.0, neighbours=neighbours)
    assert scores(model, 3) == pytest.approx([0, 0, 1, 0], abs=1e-6)
    assert scores(model, 2) == pytest.approx([1 / 2, 1 / 2, 0, 1 / 2], abs=1e-6)
    held_back = fitted(LISTS, 4, similarity="conditional", popularity_exponent=1.0, neighbours=neighbours)
    assert scores(held_back, 2) == pytest.approx([1 / 4, 1 / 4, 0, 1 / 2], abs=1e-6)


@pytest.mark.parametrize(
    ("similarity", "expected"), [("cosine", 2 / 5), ("jaccard", 2 / 5), ("conditional", 2 / (2 * 2**0.25 + 3))]
)
def test_shrinkage_is_added_to_the_denominator(similarity: str, expected: float) -> None:
    model = fitted(LISTS, 4, similarity=similarity, shrinkage=3.0)
    assert scores(model, 0)[1] == pytest.approx(expected, abs=1e-6)


def test_default_is_exactly_the_plain_cosine() -> None:
    corpus = walks()
    model = ItemKnn(ItemKnnConfig((0, 60)))
    model.fit(corpus.items, corpus.offsets)
    together = Cooccurrence(corpus.items, corpus.offsets, 60)
    norms = together.norms()
    assert torch.equal(model.weights.matrix, together.gram().div_(norms).div_(norms[:, None]).fill_diagonal_(0))


def test_weights_add_up_and_repeated_items_count_twice() -> None:
    model = fitted(LISTS, 4)
    assert scores(model, 0, 2, 0) == pytest.approx([0.5, 2.5, 1, 0.5**0.5], abs=1e-6)


def test_item_without_training_lists_has_no_weights() -> None:
    model = fitted(LISTS, 5)
    assert scores(model, 0, 4) == pytest.approx([0, 1, 0.5, 0, 0], abs=1e-6)


def test_popularity_breaks_ties() -> None:
    model = fitted([[0, 1], [2, 3], [4, 3]], 5)
    nothing_known = model.score_next([EMPTY, np.array([0])])
    assert nothing_known[0].argmax() == 3
    assert nothing_known[1].argsort(descending=True)[:2].tolist() == [1, 3]


@pytest.mark.parametrize("budget", ["PAIRS_AT_ONCE", "CELLS_AT_ONCE"])
def test_counting_in_chunks_gives_the_same_weights(budget: str, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = walks()
    together = Cooccurrence(corpus.items, corpus.offsets, 60)
    stands_in = np.zeros((len(corpus), 60))
    for number in range(len(corpus)):
        stands_in[number, corpus.list(number)] = 1
    monkeypatch.setattr(f"fansrec.models.linear.cooccurrence.{budget}", 500)
    assert len(list(together.rows())) > 5
    assert np.array_equal(together.gram().numpy(), stands_in.T @ stands_in)


def test_pruning_to_all_neighbors_changes_nothing() -> None:
    corpus = walks()
    inputs = [np.array([3, 4, 5, 3]), EMPTY, np.arange(20, 30)]
    dense, pruned = (ItemKnn(ItemKnnConfig((0, 60), neighbours=n)) for n in (0, 59))
    for model in (dense, pruned):
        model.fit(corpus.items, corpus.offsets)
    torch.testing.assert_close(pruned.score_next(inputs), dense.score_next(inputs))


def test_pruning_keeps_the_strongest_weights() -> None:
    model = fitted(LISTS, 4, neighbours=1)
    assert scores(model, 0) == pytest.approx([0, 1, 0, 0], abs=1e-6)
    assert scores(model, 2) == pytest.approx([0, 0, 0, 0.5**0.5], abs=1e-6)


@pytest.mark.parametrize("neighbours", [0, 7])
def test_lists_of_a_batch_do_not_affect_each_other(neighbours: int) -> None:
    corpus = walks()
    model = ItemKnn(ItemKnnConfig((0, 60), neighbours=neighbours))
    model.fit(corpus.items, corpus.offsets)
    inputs = [corpus.list(number).astype(np.int64) for number in range(20)] + [EMPTY]
    together = model.score_next(inputs)
    for row, items in zip(together, inputs, strict=True):
        assert torch.equal(row, model.score_next([items])[0])


def test_large_catalog_keeps_the_strongest_200_weights() -> None:
    assert ItemKnnConfig((0, 15_000)).width is None
    assert ItemKnnConfig((0, 15_001)).width == 200
    assert ItemKnnConfig((0, 15_000), neighbours=50).width == 50
    assert ItemKnnConfig((0, 30), dense_items=20).width == 29
    sizes = [tensor.numel() for tensor in ItemKnn(ItemKnnConfig((0, 100_000), neighbours=3)).state_dict().values()]
    assert max(sizes) == 300_000


@pytest.mark.parametrize("name", ["neighbours", "shrinkage", "popularity_exponent"])
def test_negative_setting_is_refused(name: str) -> None:
    with pytest.raises(BadSetting, match=f"{name} is -1"):
        ItemKnnConfig((0, 4), **{name: -1})


def test_unknown_similarity_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadSetting, match="similarity is 'cosin'; it can be cosine or jaccard or conditional"):
        ItemKnnConfig((0, 4), similarity="cosin")
