from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from linear_models import INPUTS, fitted, fitted_to

NO_DECAY = 1e9
LISTS = [[0, 1, 2], [2, 0, 3, 0, 1], [3], [1, 3, 2, 4]]

Floats = NDArray[np.float64]


def small(**settings: Any) -> Floats:
    """Return the weights fitted to LISTS."""
    return fitted_to(LISTS, 5, "slist", **settings).weights.matrix.double().numpy()


def stands_in() -> Floats:
    """Return X."""
    rows = np.zeros((len(LISTS), 5))
    for row, items in zip(rows, LISTS, strict=True):
        row[items] = 1
    return rows


def cuts(decay: float) -> tuple[Floats, Floats]:
    """Return S and T, one row per split."""
    pasts, futures = [], []
    for items in LISTS:
        for cut in range(1, len(items)):
            past, future = np.zeros(5), np.zeros(5)
            for place, item in enumerate(items):
                near = np.exp(-(cut - 1 - place if place < cut else place - cut) / decay)
                (past if place < cut else future)[item] += near / np.sqrt(len(items) - 1)
            pasts.append(past)
            futures.append(future)
    return np.array(pasts), np.array(futures)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("decay", [1.5, 20.0])
def test_weights_equal_the_combined_regression(alpha: float, decay: float) -> None:
    past, future = cuts(decay)
    given = np.concatenate([np.sqrt(alpha) * stands_in(), np.sqrt(1 - alpha) * past])
    targets = np.concatenate([np.sqrt(alpha) * stands_in(), np.sqrt(1 - alpha) * future])
    weights = small(alpha=alpha, decay=decay, regularization=0.5)
    ridge = given.T @ given + 0.5 * np.eye(5)
    unconstrained = np.linalg.solve(ridge, given.T @ targets)
    for item in range(5):
        others = np.delete(np.arange(5), item) if unconstrained[item, item] > 0 else np.arange(5)
        expected = np.zeros(5)
        expected[others] = np.linalg.solve(ridge[np.ix_(others, others)], given[:, others].T @ targets[:, item])
        expected[item] = 0
        assert weights[:, item] == pytest.approx(expected, abs=1e-5)


def test_diagonal_of_1_allows_self_prediction_in_training_only() -> None:
    x = stands_in()
    expected = np.linalg.solve(x.T @ x + 0.5 * np.eye(5), x.T @ x)
    np.fill_diagonal(expected, 0)
    assert small(alpha=1.0, diagonal=1.0, regularization=0.5) == pytest.approx(expected, abs=1e-5)


def test_alpha_of_1_without_recency_is_ease() -> None:
    ease = fitted("ease", regularization=30.0)
    slist = fitted("slist", alpha=1.0, regularization=30.0, input_decay=NO_DECAY)
    torch.testing.assert_close(slist.score_next(INPUTS), ease.score_next(INPUTS), rtol=1e-3, atol=1e-5)


def test_weights_prefer_the_forward_direction() -> None:
    weights = fitted("slist", alpha=0.0, regularization=1.0, decay=2.0).weights.matrix
    around = torch.arange(15)
    ahead, behind = weights[around, (around + 1) % 15].mean(), weights[around, (around - 1) % 15].mean()
    assert ahead > 5 * behind.abs()


@pytest.mark.parametrize("kept", [0, 59])
def test_last_items_of_the_input_weigh_most(kept: int) -> None:
    model = fitted("slist", input_decay=1.0, neighbours=kept)
    first, last, both = model.score_next([np.array([3]), np.array([20]), np.array([3, 20])])
    torch.testing.assert_close(both, last + np.exp(-1) * first, rtol=1e-4, atol=1e-6)


def test_fitting_is_deterministic() -> None:
    assert torch.equal(fitted("slist").weights.matrix, fitted("slist").weights.matrix)


def test_lists_of_one_item_can_be_fitted() -> None:
    model = fitted_to([[0], [1], [0]], 2, "slist")
    assert model.score_next([np.array([1])])[0].argmax() == 0  # the most popular one
