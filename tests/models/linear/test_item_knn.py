import numpy as np
import pytest
import torch

from fansrec.errors import BadSetting
from fansrec.models.linear.config import ItemKnnConfig
from fansrec.models.linear.cooccurrence import Cooccurrence
from linear_models import CORPUS, EMPTY, LISTS, fitted, fitted_to, scores


@pytest.mark.parametrize("kept", [0, 3])
def test_weight_is_the_cosine_of_list_vectors(kept: int) -> None:
    model = fitted_to(LISTS, 4, "item-knn", neighbours=kept)
    assert scores(model, 0) == pytest.approx([0, 1, 0.5, 0], abs=1e-6)  # 0 and 1 share both their lists
    assert scores(model, 2) == pytest.approx([0.5, 0.5, 0, 0.5**0.5], abs=1e-6)


@pytest.mark.parametrize("kept", [0, 3])
def test_jaccard_is_lists_with_both_over_lists_with_either(kept: int) -> None:
    model = fitted_to(LISTS, 4, "item-knn", similarity="jaccard", neighbours=kept)
    assert scores(model, 0) == pytest.approx([0, 1, 1 / 3, 0], abs=1e-6)


@pytest.mark.parametrize("kept", [0, 3])
def test_conditional_similarity_by_hand(kept: int) -> None:
    model = fitted_to(LISTS, 4, "item-knn", similarity="conditional", popularity_exponent=0.0, neighbours=kept)
    assert scores(model, 3) == pytest.approx([0, 0, 1, 0], abs=1e-6)
    assert scores(model, 2) == pytest.approx([1 / 2, 1 / 2, 0, 1 / 2], abs=1e-6)
    held_back = fitted_to(LISTS, 4, "item-knn", similarity="conditional", popularity_exponent=1.0, neighbours=kept)
    assert scores(held_back, 2) == pytest.approx([1 / 4, 1 / 4, 0, 1 / 2], abs=1e-6)


@pytest.mark.parametrize(
    ("similarity", "expected"), [("cosine", 2 / 5), ("jaccard", 2 / 5), ("conditional", 2 / (2 * 2**0.25 + 3))]
)
def test_shrinkage_is_added_to_the_denominator(similarity: str, expected: float) -> None:
    model = fitted_to(LISTS, 4, "item-knn", similarity=similarity, shrinkage=3.0)
    assert scores(model, 0)[1] == pytest.approx(expected, abs=1e-6)


def test_default_is_exactly_the_plain_cosine() -> None:
    together = Cooccurrence(CORPUS.items, CORPUS.offsets, 60)
    norms = together.norms()
    expected = together.gram().div_(norms).div_(norms[:, None]).fill_diagonal_(0)
    assert torch.equal(fitted("item-knn").weights.matrix, expected)


def test_weights_add_up_and_repeated_items_count_twice() -> None:
    model = fitted_to(LISTS, 4, "item-knn")
    assert scores(model, 0, 2, 0) == pytest.approx([0.5, 2.5, 1, 0.5**0.5], abs=1e-6)


def test_popularity_breaks_ties() -> None:
    model = fitted_to([[0, 1], [2, 3], [4, 3]], 5, "item-knn")
    nothing_known = model.score_next([EMPTY, np.array([0])])
    assert nothing_known[0].argmax() == 3
    assert nothing_known[1].argsort(descending=True)[:2].tolist() == [1, 3]


@pytest.mark.parametrize("budget", ["PAIRS_AT_ONCE", "CELLS_AT_ONCE"])
def test_counting_in_chunks_gives_the_same_weights(budget: str, monkeypatch: pytest.MonkeyPatch) -> None:
    together = Cooccurrence(CORPUS.items, CORPUS.offsets, 60)
    stands_in = np.zeros((len(CORPUS), 60))
    for number in range(len(CORPUS)):
        stands_in[number, CORPUS.list(number)] = 1
    monkeypatch.setattr(f"fansrec.models.linear.cooccurrence.{budget}", 500)
    assert len(list(together.rows())) > 5
    assert np.array_equal(together.gram().numpy(), stands_in.T @ stands_in)


def test_pruning_keeps_the_strongest_weights() -> None:
    model = fitted_to(LISTS, 4, "item-knn", neighbours=1)
    assert scores(model, 0) == pytest.approx([0, 1, 0, 0], abs=1e-6)
    assert scores(model, 2) == pytest.approx([0, 0, 0, 0.5**0.5], abs=1e-6)


def test_unknown_similarity_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadSetting, match="similarity is 'cosin'; it can be cosine or jaccard or conditional"):
        ItemKnnConfig((0, 4), similarity="cosin")
