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
def test_the_weight_of_two_items_is_the_cosine_of_their_lists(neighbours: int) -> None:
    model = fitted(LISTS, 4, neighbours=neighbours)
    assert scores(model, 0) == pytest.approx([0, 1, 0.5, 0], abs=1e-6)  # 0 and 1 share both their lists
    assert scores(model, 2) == pytest.approx([0.5, 0.5, 0, 0.5**0.5], abs=1e-6)


@pytest.mark.parametrize("neighbours", [0, 3])
def test_jaccard_is_the_share_of_lists_with_either_that_have_both(neighbours: int) -> None:
    model = fitted(LISTS, 4, similarity="jaccard", neighbours=neighbours)
    assert scores(model, 0) == pytest.approx([0, 1, 1 / 3, 0], abs=1e-6)


@pytest.mark.parametrize("neighbours", [0, 3])
def test_the_conditional_similarity_is_how_often_one_comes_with_the_other(neighbours: int) -> None:
    model = fitted(LISTS, 4, similarity="conditional", popularity_exponent=0.0, neighbours=neighbours)
    assert scores(model, 3) == pytest.approx([0, 0, 1, 0], abs=1e-6)
    assert scores(model, 2) == pytest.approx([1 / 2, 1 / 2, 0, 1 / 2], abs=1e-6)
    held_back = fitted(LISTS, 4, similarity="conditional", popularity_exponent=1.0, neighbours=neighbours)
    assert scores(held_back, 2) == pytest.approx([1 / 4, 1 / 4, 0, 1 / 2], abs=1e-6)


@pytest.mark.parametrize(
    ("similarity", "expected"), [("cosine", 2 / 5), ("jaccard", 2 / 5), ("conditional", 2 / (2 * 2**0.25 + 3))]
)
def test_shrinkage_is_added_below_the_line(similarity: str, expected: float) -> None:
    model = fitted(LISTS, 4, similarity=similarity, shrinkage=3.0)
    assert scores(model, 0)[1] == pytest.approx(expected, abs=1e-6)


def test_the_default_is_the_plain_cosine_bit_for_bit() -> None:
    corpus = walks()
    model = ItemKnn(ItemKnnConfig((0, 60)))
    model.fit(corpus.items, corpus.offsets)
    together = Cooccurrence(corpus.items, corpus.offsets, 60)
    lengths = together.lengths()
    assert torch.equal(model.weights.matrix, together.gram().div_(lengths).div_(lengths[:, None]).fill_diagonal_(0))


def test_weights_of_the_inputs_items_add_up_and_a_repeated_one_counts_twice() -> None:
    model = fitted(LISTS, 4)
    assert scores(model, 0, 2, 0) == pytest.approx([0.5, 2.5, 1, 0.5**0.5], abs=1e-6)


def test_an_item_of_no_training_list_neither_scores_nor_disturbs() -> None:
    model = fitted(LISTS, 5)
    assert scores(model, 0, 4) == pytest.approx([0, 1, 0.5, 0, 0], abs=1e-6)


def test_among_items_without_any_weight_the_more_popular_goes_first() -> None:
    model = fitted([[0, 1], [2, 3], [4, 3]], 5)
    nothing_known = model.score_next([EMPTY, np.array([0])])
    assert nothing_known[0].argmax() == 3
    assert nothing_known[1].argsort(descending=True)[:2].tolist() == [1, 3]


@pytest.mark.parametrize("budget", ["PAIRS_AT_ONCE", "CELLS_AT_ONCE"])
def test_items_counted_a_few_at_a_time_are_counted_as_all_at_once(budget: str, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = walks()
    together = Cooccurrence(corpus.items, corpus.offsets, 60)
    stands_in = np.zeros((len(corpus), 60))
    for number in range(len(corpus)):
        stands_in[number, corpus.list(number)] = 1
    monkeypatch.setattr(f"fansrec.models.linear.cooccurrence.{budget}", 500)
    assert len(list(together.rows())) > 5
    assert np.array_equal(together.gram().numpy(), stands_in.T @ stands_in)


def test_pruned_to_all_neighbours_it_scores_as_with_all_weights() -> None:
    corpus = walks()
    inputs = [np.array([3, 4, 5, 3]), EMPTY, np.arange(20, 30)]
    dense, pruned = (ItemKnn(ItemKnnConfig((0, 60), neighbours=n)) for n in (0, 59))
    for model in (dense, pruned):
        model.fit(corpus.items, corpus.offsets)
    torch.testing.assert_close(pruned.score_next(inputs), dense.score_next(inputs))


def test_pruning_keeps_the_strongest() -> None:
    model = fitted(LISTS, 4, neighbours=1)
    assert scores(model, 0) == pytest.approx([0, 1, 0, 0], abs=1e-6)
    assert scores(model, 2) == pytest.approx([0, 0, 0, 0.5**0.5], abs=1e-6)


@pytest.mark.parametrize("neighbours", [0, 7])
def test_a_list_scores_alone_as_it_does_among_others(neighbours: int) -> None:
    corpus = walks()
    model = ItemKnn(ItemKnnConfig((0, 60), neighbours=neighbours))
    model.fit(corpus.items, corpus.offsets)
    inputs = [corpus.list(number).astype(np.int64) for number in range(20)] + [EMPTY]
    together = model.score_next(inputs)
    for row, items in zip(together, inputs, strict=True):
        assert torch.equal(row, model.score_next([items])[0])


def test_all_weights_are_kept_up_to_a_size_and_the_strongest_200_beyond() -> None:
    assert ItemKnnConfig((0, 15_000)).width is None
    assert ItemKnnConfig((0, 15_001)).width == 200
    assert ItemKnnConfig((0, 15_000), neighbours=50).width == 50
    assert ItemKnnConfig((0, 30), dense_items=20).width == 29
    sizes = [tensor.numel() for tensor in ItemKnn(ItemKnnConfig((0, 100_000), neighbours=3)).state_dict().values()]
    assert max(sizes) == 300_000


@pytest.mark.parametrize("name", ["neighbours", "shrinkage", "popularity_exponent"])
def test_a_setting_below_zero_is_refused(name: str) -> None:
    with pytest.raises(BadSetting, match=f"{name} is -1"):
        ItemKnnConfig((0, 4), **{name: -1})


def test_a_similarity_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(BadSetting, match="similarity is 'cosin'; it can be cosine or jaccard or conditional"):
        ItemKnnConfig((0, 4), similarity="cosin")
