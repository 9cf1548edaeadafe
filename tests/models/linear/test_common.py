"""What the linear models have in common."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import torch

from fansrec.errors import BadSetting
from fansrec.models.linear.config import EaseConfig, ItemKnnConfig, RP3betaConfig, SlistConfig
from fansrec.models.linear.item_knn import ItemKnn
from fansrec.models.ranges import ranges
from fansrec.models.registry import build, entry
from linear_models import CORPUS, EMPTY, INPUTS, KEPT, LISTS, fitted, fitted_to, scores

PRUNED: dict[str, Any] = {KEPT: 7}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        *[(name, settings) for name in ("item-knn", "rp3beta", "ease", "slist") for settings in ({}, PRUNED)],
        *[(name, {"dense_items": 0, "predictors": 20}) for name in ("ease", "slist")],
    ],
)
def test_lists_of_a_batch_do_not_affect_each_other(name: str, settings: dict[str, Any]) -> None:
    model = fitted(name, **settings)
    inputs = [*INPUTS, *[CORPUS.list(number).astype("int64") for number in range(20)], EMPTY]
    together = model.score_next(inputs)
    for row, items in zip(together, inputs, strict=True):
        assert torch.equal(row, model.score_next([items])[0])


def test_ranges_are_concatenated() -> None:
    nothing = np.array([], dtype=np.int64)
    assert ranges(np.array([3, 1, 5]), np.array([2, 2, 0])).tolist() == [3, 4, 1, 2]
    assert ranges(nothing, nothing).tolist() == []


@pytest.mark.parametrize("name", ["ease", "slist"])
def test_config_and_state_restore_a_pruned_model(name: str) -> None:
    model = fitted(name, **PRUNED)
    again = build(name, asdict(model.config))
    again.load_state_dict(model.state_dict())
    assert torch.equal(again.score_next(INPUTS), model.score_next(INPUTS))


@pytest.mark.parametrize("name", ["item-knn", "ease"])
def test_pruning_to_all_neighbors_changes_nothing(name: str) -> None:
    dense, pruned = (fitted(name, neighbours=kept).score_next(INPUTS) for kept in (0, 59))
    torch.testing.assert_close(pruned, dense, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["item-knn", "rp3beta"])
def test_item_without_training_lists_has_no_weights(name: str) -> None:
    without, among = fitted_to(LISTS, 4, name), fitted_to(LISTS, 5, name)
    assert scores(among, 0, 4) == pytest.approx([*scores(without, 0), 0], abs=1e-6)


def test_large_catalog_keeps_the_strongest_weights() -> None:
    for config, kept in ((ItemKnnConfig, 200), (RP3betaConfig, 200), (EaseConfig, 1000), (SlistConfig, 1000)):
        assert config((0, 15_000)).width is None
        assert config((0, 15_001)).width == kept
    assert ItemKnnConfig((0, 15_000), neighbours=50).width == 50
    assert ItemKnnConfig((0, 30), dense_items=20).width == 29
    assert SlistConfig((0, 15_001), dense_items=20_000).width is None
    sizes = [tensor.numel() for tensor in ItemKnn(ItemKnnConfig((0, 100_000), neighbours=3)).state_dict().values()]
    assert max(sizes) == 300_000


def test_regressions_keep_at_most_512_mb_of_weights_but_200_per_item() -> None:
    assert [EaseConfig((0, items)).width for items in (60_000, 200_000, 1_000_000)] == [1000, 335, 200]


INVALID: dict[str, dict[str, Any]] = {
    "item-knn": {KEPT: -1, "shrinkage": -1, "popularity_exponent": -1},
    "rp3beta": {KEPT: -1, "alpha": -1, "beta": -1},
    "ease": {KEPT: -1, "regularization": 0, "predictors": 0},
    "slist": {
        KEPT: -1,
        "regularization": 0,
        "predictors": 0,
        "decay": 0,
        "input_decay": 0,
        "alpha": 1.1,
        "diagonal": -0.1,
    },
    "markov": {KEPT: 0, "smoothing": 0},
}


@pytest.mark.parametrize(("name", "setting"), [(name, one) for name, values in INVALID.items() for one in values])
def test_invalid_settings_are_refused(name: str, setting: str) -> None:
    value = INVALID[name][setting]
    with pytest.raises(BadSetting, match=f"{setting} is {value}"):
        entry(name).config((0, 4), **{setting: value})


@pytest.mark.parametrize(("name", "settings"), [("ease", {}), ("slist", {"alpha": 1.0})])
def test_too_little_regularization_is_refused(name: str, settings: dict[str, Any]) -> None:
    with pytest.raises(BadSetting, match="regularization 1e-30 is too small for these lists"):
        fitted(name, **settings, regularization=1e-30)
