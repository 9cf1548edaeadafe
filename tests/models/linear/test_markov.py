from typing import Any

import numpy as np
import pytest
import torch

from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.models.linear.markov import Markov, MarkovConfig
from worlds import walks

LISTS = [[0, 1, 0, 2], [0, 1]]
POPULARITY = [0.4, 0.4, 0.2]
EMPTY = np.array([], dtype=np.int64)


def fitted(lists: list[list[int]], items: int, **settings: Any) -> Markov:
    model = Markov(MarkovConfig((0, items), **settings))
    model.fit(np.concatenate(lists).astype(np.int32), np.cumsum([0, *map(len, lists)]))
    return model


def scores(model: Markov, *items: int) -> list[float]:
    return model.score_next([np.array(items, dtype=np.int64)])[0].tolist()


def test_scores_mix_transitions_and_popularity() -> None:
    model = fitted(LISTS, 3)
    # Of four: followed twice by 1, once by 2, and once by popularity (smoothing).
    assert scores(model, 0) == pytest.approx([0.1, 0.5 + 0.1, 0.25 + 0.05])
    assert scores(model, 2, 1, 0) == pytest.approx(scores(model, 0))
    assert scores(model, 1) == pytest.approx([0.5 + 0.2, 0.2, 0.1])


def test_popularity_is_the_fallback() -> None:
    model = fitted(LISTS, 3)
    assert scores(model) == pytest.approx(POPULARITY)
    assert scores(model, 2) == pytest.approx(POPULARITY)  # nothing ever followed 2


def test_transitions_do_not_cross_lists() -> None:
    assert fitted([[0, 1], [2, 0]], 3).chances[1].tolist() == [0, 0, 0]


def test_scores_sum_to_1() -> None:
    corpus = walks()
    model = Markov(MarkovConfig((0, 60), neighbours=2))
    model.fit(corpus.items, corpus.offsets)
    sums = model.score_next([EMPTY, *[np.array([item]) for item in range(60)]]).sum(1)
    torch.testing.assert_close(sums, torch.ones(61))


def test_popular_followers_are_kept_of_equal_counts() -> None:
    model = fitted([[0, 1], [0, 2], [2, 1], [2]], 3, neighbours=1)
    assert model.followers[0].tolist() == [2]
    assert scores(model, 0) == pytest.approx([2 / 3 * 2 / 7, 2 / 3 * 2 / 7, 1 / 3 + 2 / 3 * 3 / 7])


def test_autoregressive_generation_follows_the_walk() -> None:
    corpus = walks()
    model = Markov(MarkovConfig((0, 60)))
    model.fit(corpus.items, corpus.offsets)
    engine = TorchEngine(model, 60)
    alone, among_others = engine.continue_lists([np.arange(15, 22)], 5, Rules()), engine.continue_lists(
        [np.array([3]), np.arange(15, 22), EMPTY], 5, Rules()
    )  # fmt: skip
    assert alone[0].items.tolist() == among_others[1].items.tolist() == [22, 23, 24, 25, 26]


@pytest.mark.parametrize("name", ["smoothing", "neighbours"])
def test_invalid_settings_are_refused(name: str) -> None:
    with pytest.raises(BadSetting, match=f"{name} is 0"):
        MarkovConfig((0, 4), **{name: 0})
