"""The approximation of EASE and SLIST for many items, and its parts."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from fansrec.errors import BadSetting
from fansrec.models.linear import item_weights, neighbor_regression, pair_sums
from fansrec.models.linear.config import EaseConfig
from fansrec.models.linear.cooccurrence import portions
from fansrec.models.linear.neighbor_regression import approximate, solutions
from fansrec.models.linear.pair_sums import PairSums, highest, summed
from fansrec.models.linear.symmetric_matrix import SymmetricMatrix
from linear_models import CORPUS, KEPT, fitted, fitted_to

MODELS: list[tuple[str, dict[str, Any]]] = [
    ("ease", {}),
    ("slist", {"alpha": 0.2}),
    ("slist", {"alpha": 0.0, "decay": 2.0}),
    ("slist", {"diagonal": 1.0, "regularization": 5.0}),
    ("slist", {"diagonal": 0.1, "regularization": 5.0}),
]
ALL: dict[str, Any] = {"dense_items": 0, "predictors": 60, KEPT: 59}
# Every pair of items is in some list, so that all other items can be predictors.
SHUFFLED = [np.random.default_rng(seed).permutation(12)[:7].tolist() for seed in range(60)]


def matrix(model: Any) -> NDArray[np.float32]:
    """Return the weights of a pruned model as a matrix (M, M)."""
    items, weights = model.weights.items.long(), model.weights.weights
    return torch.zeros(len(items), len(items)).scatter_add_(1, items, weights).numpy()


def without_refinement(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(neighbor_regression, "REFINED_CELLS", 0)


@pytest.mark.parametrize(("name", "settings"), MODELS)
def test_regression_on_all_items_is_exact(name: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    without_refinement(monkeypatch)
    approximated = fitted_to(SHUFFLED, 12, name, **settings, **{**ALL, KEPT: 11})
    exact = fitted_to(SHUFFLED, 12, name, **settings).weights.matrix.numpy()
    assert matrix(approximated) == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize(("name", "settings"), MODELS)
def test_enough_steps_solve_the_regression(
    name: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbor_regression, "STEPS", 60)
    approximated = matrix(fitted(name, **{**ALL, **settings, "predictors": 20}))
    assert approximated == pytest.approx(fitted(name, **settings).weights.matrix.numpy(), abs=1e-5)


@pytest.mark.parametrize(("name", "settings"), MODELS)
def test_three_steps_come_close(name: str, settings: dict[str, Any]) -> None:
    approximated = matrix(fitted(name, **{**ALL, **settings, "predictors": 10}))
    exact = fitted(name, **settings).weights.matrix.numpy()
    assert np.corrcoef(approximated.ravel(), exact.ravel())[0, 1] > 0.99


def test_weights_equal_ridge_regression_on_the_best_predictors(monkeypatch: pytest.MonkeyPatch) -> None:
    without_refinement(monkeypatch)
    stands_in = np.zeros((len(SHUFFLED), 12))
    for row, items in zip(stands_in, SHUFFLED, strict=True):
        row[items] = 1
    weights = matrix(fitted_to(SHUFFLED, 12, "ease", **{**ALL, "predictors": 4, KEPT: 11}, regularization=5.0))
    gram = stands_in.T @ stands_in
    gains = gram / np.sqrt(gram.diagonal() + 5)[:, None]
    np.fill_diagonal(gains, -np.inf)
    for target in range(12):
        best = np.argsort(-gains[:, target], kind="stable")[:3]  # and the item itself, whose weight is 0
        expected = np.zeros(12)
        expected[best] = np.linalg.solve(gram[np.ix_(best, best)] + 5 * np.eye(3), gram[best, target])
        assert weights[:, target] == pytest.approx(expected, abs=1e-5)


def test_popular_items_are_refined_first(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = fitted("slist").weights.matrix.numpy()
    popular = np.argsort(-np.bincount(CORPUS.items, minlength=60), kind="stable")[:20]
    monkeypatch.setattr(neighbor_regression, "REFINED_CELLS", 20 * 60)
    monkeypatch.setattr(neighbor_regression, "REFINED_AT_ONCE", 7)
    errors = np.abs(matrix(fitted("slist", **{**ALL, "predictors": 3})) - exact).sum(0)
    without_refinement(monkeypatch)
    before = np.abs(matrix(fitted("slist", **{**ALL, "predictors": 3})) - exact).sum(0)
    assert (errors[popular] < 0.2 * before[popular]).all()
    others = np.setdiff1d(np.arange(60), popular)
    assert np.array_equal(errors[others], before[others])


@pytest.mark.parametrize("budget", ["SOLVED_AT_ONCE", "LOOKUP_CELLS"])
def test_solving_in_portions_gives_the_same_weights(budget: str, monkeypatch: pytest.MonkeyPatch) -> None:
    together = matrix(fitted("slist", **ALL))
    monkeypatch.setattr(neighbor_regression, budget, 1)
    assert matrix(fitted("slist", **ALL)) == pytest.approx(together, abs=1e-6)


def test_summing_in_portions_gives_the_same_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = PairSums(CORPUS.items, CORPUS.offsets, 60, 0.3, 5.0)
    together = sums.dense()
    monkeypatch.setattr(pair_sums, "PAIRS_AT_ONCE", 500)
    assert len(list(sums.blocks())) > 5
    torch.testing.assert_close(sums.dense(), together)


@pytest.mark.parametrize("cells_per_pair", [0, 1000])
def test_sums_by_sorting_and_by_counting(cells_per_pair: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_sums, "CELLS_PER_PAIR", cells_per_pair)
    keys, (first, second) = summed(np.array([7, 2, 7]), (np.array([1.0, 2.0, 4.0]), np.array([0.0, 0.0, 3.0])), 9)
    assert (keys.tolist(), first.tolist(), second.tolist()) == ([2, 7], [2, 5], [0, 3])
    keys, (nothing,) = summed(np.array([], np.int64), (np.array([]),), 9)
    assert keys.tolist() == nothing.tolist() == []


def test_long_rows_are_cut_if_there_are_too_many_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = PairSums(CORPUS.items, CORPUS.offsets, 60, 1.0)
    monkeypatch.setattr(pair_sums, "MIN_WIDTH", 2)
    entries = sums.sparse(600)
    assert np.bincount(entries.rows).max() == 7  # 60, 30, 15, 7: the first with at most 600 entries
    assert set(range(60)) == set(entries.rows[entries.rows == entries.columns].tolist())
    exact = fitted("ease").weights.matrix.numpy()
    monkeypatch.setattr(neighbor_regression, "ENTRIES", 600)
    table = approximate(sums, EaseConfig((0, 60)), 59)
    assert torch.isfinite(table.weights).all()
    assert (exact[np.arange(60), table.items[:, 0]] > 0).mean() > 0.9


def test_200_000_items_need_no_quadratic_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbor_regression, "REFINED_CELLS", 1 << 21)
    lists = [[item, item + 1, 7] for item in range(100, 200_000, 100)] * 2
    ease, slist = (fitted_to(lists, 200_000, name, neighbours=3, regularization=1.0) for name in ("ease", "slist"))
    # 2 / (2 + lambda), less the little that 7 contributes; and 7 from two equal items: 2 / (2 + 2 + lambda)
    assert ease.weights.items[100, :2].tolist() == [101, 7]
    assert ease.weights.weights[100, :2].tolist() == pytest.approx([2 / 3, 2 / 5], rel=1e-2)
    assert set(slist.weights.items[100, :2].tolist()) == {101, 7}


def test_indefinite_matrices_are_shrunk_towards_their_diagonal() -> None:
    indefinite = np.array([[[2, 0], [5, 2]], [[2, 0], [1.25, 2]]], np.float32)  # lower triangles
    sides = np.array([[[3], [3]], [[3], [3]]], np.float32)
    # The other entries of the first are halved until the matrix is definite: 5, 2.5, 1.25.
    assert solutions(indefinite, sides)[..., 0] == pytest.approx(np.full((2, 2), 3 / 3.25))


def test_matrices_without_a_positive_diagonal_are_refused() -> None:
    with pytest.raises(BadSetting, match="regularization is too small for these lists"):
        solutions(np.zeros((1, 2, 2), np.float32), np.ones((1, 2, 2), np.float32))


def test_symmetric_matrix_has_the_entries_of_its_shorter_rows() -> None:
    rows, columns, values = [0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 2], [5.0, 6.0, 7.0, 5.0, 6.0, 8.0]
    matrix = SymmetricMatrix.of(
        np.array(rows, np.int32), np.array(columns, np.int32), np.array(values, np.float32), np.ones(4, np.float32)
    )
    # 3 has no entry for 0, and 0, the longer row, is not asked; 2 has none for 3, and comes first of two equals.
    expected = [[1, 5, 6, 0], [5, 1, 0, 0], [6, 0, 1, 8], [0, 0, 8, 1]]
    assert matrix.times(torch.eye(4)).tolist() == expected


def test_highest_scores_of_each_row() -> None:
    rows, scores = np.array([0, 0, 0, 2, 2, 5], np.int32), np.array([1.0, 3.0, 2.0, 1.0, 2.0, 0.0])
    assert highest(rows, scores, 2).tolist() == [1, 2, 3, 4, 5]
    assert highest(rows, scores, 1).tolist() == [1, 4, 5]
    assert highest(rows[:0], scores[:0], 1).tolist() == []


def test_portions_cost_at_most_1() -> None:
    assert list(portions(np.array([0.5, 0.5, 0.25, 3.0, 0.0]))) == [slice(0, 2), slice(2, 3), slice(3, 4), slice(4, 5)]
    assert list(portions(np.array([]))) == []


def test_number_of_threads_does_not_change_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbor_regression, "SOLVED_AT_ONCE", 2000)
    monkeypatch.setattr(neighbor_regression, "REFINED_AT_ONCE", 7)
    monkeypatch.setattr(item_weights, "CELLS_AT_ONCE", 500)
    one, before = fitted("slist", **ALL), torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert np.array_equal(matrix(fitted("slist", **ALL)), matrix(one))
    finally:
        torch.set_num_threads(before)
