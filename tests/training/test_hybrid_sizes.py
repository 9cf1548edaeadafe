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


def test_few_lists_get_small_batches_and_many_epochs() -> None:
    assert fitted(50)["batch_size"] < fitted(10_000)["batch_size"]
    assert fitted(50)["epochs"] >= fitted(10_000)["epochs"] >= fitted(60_000)["epochs"]


@pytest.mark.parametrize("lists", [2000, 4999, 6000, 15_000])
def test_number_of_steps_is_nearly_constant(lists: int) -> None:
    steps = fitted(lists)["epochs"] * lists / fitted(lists)["batch_size"]
    assert steps == pytest.approx(plans.STEPS, rel=0.05)


def test_only_training_lists_count() -> None:
    few, all_of_them = corpus(6000), corpus(6000)
    few = Corpus(few.items, few.offsets, np.repeat([0, 1, 2], 2000).astype(np.uint8), few.vocabulary, few.summary)
    assert fitting("fans-hybrid", few)["epochs"] == fitting("fans-hybrid", corpus(2000))["epochs"]
    assert fitting("fans-hybrid", few) != fitting("fans-hybrid", all_of_them)


def test_large_corpus_gets_a_wider_network_with_less_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MANY_ITEMS", 1000)
    small, large = fitted(400), fitted(600)
    for name in ("width", "heads", "feedforward"):
        assert large[name] == 2 * small[name]
    assert large["dropout"] < small["dropout"]


def test_given_settings_take_precedence() -> None:
    plan = make_plan("fans", BEST, corpus(50))
    assert {name: (plan.settings | vars(plan.training))[name] for name in fitted(50)} == fitted(50)
    given = make_plan("fans", BEST | {"epochs": 3, "width": 8, "dropout": 0.5}, corpus(50))
    assert (given.training.epochs, given.settings["width"], given.settings["dropout"]) == (3, 8, 0.5)
    assert given.training.batch_size == fitted(50)["batch_size"]


def test_tiny_corpus_gives_a_valid_network() -> None:
    assert make_plan("fans", BEST, corpus(3)).build().config.positions == 5
