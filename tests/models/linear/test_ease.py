from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import torch

from fansrec.errors import BadSetting
from fansrec.models.linear.ease import Ease, EaseConfig, fastest
from fansrec.models.registry import build
from worlds import walks

CORPUS = walks()
INPUTS = [np.array([3, 4, 5, 3]), np.array([], dtype=np.int64), np.arange(20, 30), np.array([59])]


def fitted(**settings: Any) -> Ease:
    model = Ease(EaseConfig((0, 60), **settings))
    model.fit(CORPUS.items, CORPUS.offsets)
    return model


def test_ridge_regression_of_two_items_by_hand() -> None:
    model = Ease(EaseConfig((0, 2), regularization=1.0))
    model.fit(np.array([0, 1, 0], dtype=np.int32), np.array([0, 2, 3]))  # 0 stands in two lists, in one of them with 1
    scores = model.score_next([np.array([0]), np.array([1]), np.array([0, 0, 1])])
    # 1 / (2 + lambda) from 0 to 1, 1 / (1 + lambda) back
    assert scores.numpy() == pytest.approx(np.array([[0, 1 / 3], [1 / 2, 0], [1 / 2, 2 / 3]]), abs=1e-6)


def test_weights_equal_ridge_regression_on_all_other_items() -> None:
    stands_in = np.zeros((len(CORPUS), 60))
    for number in range(len(CORPUS)):
        stands_in[number, CORPUS.list(number)] = 1
    model = fitted(regularization=30.0)
    for item in (0, 17, 59):
        others = np.delete(stands_in, item, axis=1)
        expected = np.linalg.solve(others.T @ others + 30 * np.eye(59), others.T @ stands_in[:, item])
        weights = model.weights.matrix[:, item].numpy()
        assert weights[item] == 0
        assert np.delete(weights, item) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("there", "kind"), [(True, "cuda"), (False, "cpu")])
def test_inversion_runs_on_a_gpu_if_there_is_one(monkeypatch: pytest.MonkeyPatch, there: bool, kind: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    assert fastest().type == kind


def test_weights_are_in_host_memory() -> None:
    for settings in ({}, {"neighbours": 7}):
        assert {tensor.device.type for tensor in fitted(**settings).state_dict().values()} == {"cpu"}


def test_pruning_to_all_neighbors_changes_nothing() -> None:
    torch.testing.assert_close(
        fitted(neighbours=59).score_next(INPUTS), fitted().score_next(INPUTS), rtol=1e-4, atol=1e-5
    )


def test_regression_on_all_neighbors_is_exact() -> None:
    by_neighbours = fitted(dense_items=0, neighbours=59, predictors=59)
    torch.testing.assert_close(by_neighbours.score_next(INPUTS), fitted().score_next(INPUTS), rtol=1e-3, atol=1e-4)


def test_few_predictors_approximate_all() -> None:
    exact, close = (
        fitted(**settings).score_next(INPUTS[:1])[0] for settings in ({}, {"dense_items": 0, "predictors": 14})
    )
    assert close[:15].argmax() == exact[:15].argmax()
    assert torch.corrcoef(torch.stack([exact, close]))[0, 1] > 0.95


def test_pruning_keeps_the_largest_absolute_weights() -> None:
    dense, pruned = (fitted(regularization=1.0, neighbours=n).weights for n in (0, 5))
    for item in (0, 30):
        largest = dense.matrix[item].abs().topk(5).values
        assert pruned.weights[item].abs().tolist() == pytest.approx(largest.tolist())
    assert (pruned.weights < 0).any()


@pytest.mark.parametrize("settings", [{}, {"neighbours": 7}, {"dense_items": 0, "predictors": 20}])
def test_lists_of_a_batch_do_not_affect_each_other(settings: dict[str, Any]) -> None:
    model = fitted(**settings)
    together = model.score_next(INPUTS)
    for row, items in zip(together, INPUTS, strict=True):
        assert torch.equal(row, model.score_next([items])[0])


def test_config_and_state_restore_a_pruned_model() -> None:
    model = fitted(neighbours=7)
    again = build("ease", asdict(model.config))
    again.load_state_dict(model.state_dict())
    assert torch.equal(again.score_next(INPUTS), model.score_next(INPUTS))


@pytest.mark.parametrize("settings", [{"regularization": 0}, {"predictors": 0}, {"neighbours": -1}])
def test_invalid_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(BadSetting, match=next(iter(settings))):
        EaseConfig((0, 4), **settings)


def test_too_little_regularization_is_refused() -> None:
    with pytest.raises(BadSetting, match="regularization 1e-30 is too small for these lists"):
        fitted(regularization=1e-30)
