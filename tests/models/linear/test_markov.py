import numpy as np
import pytest
import torch

from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from linear_models import EMPTY, fitted, fitted_to, scores

LISTS = [[0, 1, 0, 2], [0, 1]]
POPULARITY = [0.4, 0.4, 0.2]


def test_scores_mix_transitions_and_popularity() -> None:
    model = fitted_to(LISTS, 3, "markov")
    # Of four: followed twice by 1, once by 2, and once by popularity (smoothing).
    assert scores(model, 0) == pytest.approx([0.1, 0.5 + 0.1, 0.25 + 0.05])
    assert scores(model, 2, 1, 0) == pytest.approx(scores(model, 0))
    assert scores(model, 1) == pytest.approx([0.5 + 0.2, 0.2, 0.1])


def test_popularity_is_the_fallback() -> None:
    model = fitted_to(LISTS, 3, "markov")
    assert scores(model) == pytest.approx(POPULARITY)
    assert scores(model, 2) == pytest.approx(POPULARITY)  # nothing ever followed 2


def test_transitions_do_not_cross_lists() -> None:
    assert fitted_to([[0, 1], [2, 0]], 3, "markov").chances[1].tolist() == [0, 0, 0]


def test_scores_sum_to_1() -> None:
    model = fitted("markov", neighbours=2)
    sums = model.score_next([EMPTY, *[np.array([item]) for item in range(60)]]).sum(1)
    torch.testing.assert_close(sums, torch.ones(61))


def test_popular_followers_are_kept_of_equal_counts() -> None:
    model = fitted_to([[0, 1], [0, 2], [2, 1], [2]], 3, "markov", neighbours=1)
    assert model.followers[0].tolist() == [2]
    assert scores(model, 0) == pytest.approx([2 / 3 * 2 / 7, 2 / 3 * 2 / 7, 1 / 3 + 2 / 3 * 3 / 7])


def test_autoregressive_generation_follows_the_walk() -> None:
    engine = TorchEngine(fitted("markov"), 60)
    alone, among_others = engine.continue_lists([np.arange(15, 22)], 5, Rules()), engine.continue_lists(
        [np.array([3]), np.arange(15, 22), EMPTY], 5, Rules()
    )  # fmt: skip
    assert alone[0].items.tolist() == among_others[1].items.tolist() == [22, 23, 24, 25, 26]
