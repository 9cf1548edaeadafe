from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fansrec.data.corpus import Corpus
from fansrec.training import plan as plans
from fansrec.training.plan import fitting, make_plan
from worlds import corpus_of, vocabulary_of, walks

BEST = {"recipe": "best"}


def corpus(lists: int) -> Corpus:
    return corpus_of([[n % 9, (n + 1) % 9] for n in range(lists)], vocabulary_of([9]))


def fitted(lists: int) -> dict[str, Any]:
    return fitting("fans-hybrid", corpus(lists))


@pytest.mark.parametrize("model", ["fans", "ease", "sasrec"])
def test_only_the_hybrid_model_is_fitted_to_the_corpus(model: str) -> None:
    assert fitting(model, walks()) == {}


def test_few_lists_get_small_batches_and_a_low_learning_rate() -> None:
    few, many = fitted(plans.FEW_LISTS - 1), fitted(plans.FEW_LISTS)
    assert (few["batch_size"], many["batch_size"]) == (64, 256)
    assert few["learning_rate"] < many["learning_rate"]


@pytest.mark.parametrize(("interactions", "epochs"), [(60_000, 30), (3000, 30), (1200, 25), (800, 16), (100, 14)])
def test_epochs_read_a_number_of_interactions_within_limits(
    interactions: int, epochs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "INTERACTIONS", interactions)
    assert fitted(24)["epochs"] == epochs  # of 48 items


def test_only_training_lists_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "FEW_LISTS", 50)
    every = corpus(60)
    few = replace(every, parts=np.repeat([0, 1, 2], 20).astype(np.uint8))
    assert fitting("fans-hybrid", every)["batch_size"] == 256
    assert fitting("fans-hybrid", few)["batch_size"] == 64


def test_many_lists_get_a_wider_network_with_more_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MANY_LISTS", 500)
    small, large = fitted(499), fitted(500)
    for name in ("width", "feedforward"):
        assert large[name] == 2 * small[name]
    assert large["dropout"] > small["dropout"]


def test_new_models_read_their_input_causally_and_have_no_transform() -> None:
    network = make_plan("fans", BEST, corpus(50)).build().config.network
    assert network.causal and not network.transform and (network.next_share, network.read_masks) == (0.5, 3)


def test_given_settings_take_precedence() -> None:
    plan = make_plan("fans", BEST, corpus(50))
    assert {name: (plan.settings | vars(plan.training))[name] for name in fitted(50)} == fitted(50)
    given = make_plan("fans", BEST | {"epochs": 3, "width": 8, "dropout": 0.5}, corpus(50))
    assert (given.training.epochs, given.settings["width"], given.settings["dropout"]) == (3, 8, 0.5)
    assert given.training.batch_size == fitted(50)["batch_size"]


def test_tiny_corpus_gives_a_valid_network() -> None:
    assert make_plan("fans", BEST, corpus(3)).build().config.positions == 5
