import numpy as np
import pytest
import torch

from fansrec.models.linear.config import EaseConfig
from fansrec.models.linear.ease import Ease, fastest
from linear_models import CORPUS, KEPT, fitted


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
    model = fitted("ease", regularization=30.0)
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
    for settings in ({}, {KEPT: 7}):
        assert {tensor.device.type for tensor in fitted("ease", **settings).state_dict().values()} == {"cpu"}


def test_pruning_keeps_the_largest_absolute_weights() -> None:
    dense, pruned = (fitted("ease", regularization=1.0, neighbours=n).weights for n in (0, 5))
    for item in (0, 30):
        largest = dense.matrix[item].abs().topk(5).values
        assert pruned.weights[item].abs().tolist() == pytest.approx(largest.tolist())
    assert (pruned.weights < 0).any()
