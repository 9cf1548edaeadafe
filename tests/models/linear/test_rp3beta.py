from typing import Any

import numpy as np
import pytest
import torch

from fansrec.errors import BadSetting
from fansrec.models.linear.rp3beta import RP3beta, RP3betaConfig
from worlds import walks

LISTS = [[0, 1], [1, 0, 0, 2], [2, 3]]
EMPTY = np.array([], dtype=np.int64)


def fitted(lists: list[list[int]], items: int, **settings: Any) -> RP3beta:
    model = RP3beta(RP3betaConfig((0, items), **settings))
    model.fit(np.concatenate(lists).astype(np.int32), np.cumsum([0, *map(len, lists)]))
    return model


def scores(model: RP3beta, *items: int) -> list[float]:
    return model.score_next([np.array(items)])[0].tolist()


@pytest.mark.parametrize("neighbours", [0, 3])
def test_plain_walk_by_hand(neighbours: int) -> None:
    model = fitted(LISTS, 4, alpha=1.0, beta=0.0, neighbours=neighbours)
    # From 0 to one of its two lists, and on to one of that list's two or three items.
    assert scores(model, 0) == pytest.approx([0, 1 / 2 * (1 / 2 + 1 / 3), 1 / 2 * 1 / 3, 0], abs=1e-6)
    assert scores(model, 3) == pytest.approx([0, 0, 1 / 2, 0], abs=1e-6)


def test_alpha_and_beta_are_powers_of_probability_and_popularity() -> None:
    model = fitted(LISTS, 4, alpha=2.0, beta=0.5)
    walked = np.array([0, 1 / 4 * (1 / 4 + 1 / 9), 1 / 4 * 1 / 9, 0])
    assert scores(model, 0) == pytest.approx(walked / np.array([2, 2, 2, 1]) ** 0.5, abs=1e-6)


def test_powers_of_0_count_shared_lists() -> None:
    assert scores(fitted(LISTS, 4, alpha=0.0, beta=0.0), 0, 2) == pytest.approx([1, 3, 1, 1], abs=1e-6)


def test_item_without_training_lists_has_no_weights() -> None:
    assert scores(fitted(LISTS, 5), 0, 4) == pytest.approx([*scores(fitted(LISTS, 4), 0), 0], abs=1e-6)


@pytest.mark.parametrize("neighbours", [0, 7])
def test_lists_of_a_batch_do_not_affect_each_other(neighbours: int) -> None:
    corpus = walks()
    model = RP3beta(RP3betaConfig((0, 60), neighbours=neighbours))
    model.fit(corpus.items, corpus.offsets)
    inputs = [corpus.list(number).astype(np.int64) for number in range(20)] + [EMPTY]
    together = model.score_next(inputs)
    for row, items in zip(together, inputs, strict=True):
        assert torch.equal(row, model.score_next([items])[0])


def test_large_catalog_keeps_the_strongest_weights() -> None:
    assert RP3betaConfig((0, 15_000)).width is None
    assert RP3betaConfig((0, 15_001)).width == 200


@pytest.mark.parametrize("name", ["alpha", "beta", "neighbours"])
def test_negative_settings_are_refused(name: str) -> None:
    with pytest.raises(BadSetting, match=f"{name} is -1"):
        RP3betaConfig((0, 4), **{name: -1})
