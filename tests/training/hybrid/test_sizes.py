from typing import Any

import numpy as np
import pytest

from fansrec.data.corpus import Corpus
from fansrec.training.hybrid import sizes as sizing
from fansrec.training.hybrid.sizes import fitting
from fansrec.training.plan import make_plan
from worlds import corpus_of, vocabulary_of, walks

BEST = {"recipe": "best"}


def corpus(lists: int) -> Corpus:
    return corpus_of([[n % 9, (n + 1) % 9] for n in range(lists)], vocabulary_of([9]))


def of(lists: int) -> dict[str, Any]:
    return fitting("fans", "best", corpus(lists))


@pytest.mark.parametrize(("model", "recipe"), [("fans", "paper"), ("ease", "best"), ("sasrec", "paper")])
def test_only_a_network_of_recipe_best_is_fitted_to_the_corpus(model: str, recipe: str) -> None:
    assert fitting(model, recipe, walks()) == {}


def test_few_lists_are_learned_in_small_batches_and_many_epochs() -> None:
    assert of(50)["batch_size"] < of(10_000)["batch_size"]
    assert of(50)["epochs"] >= of(10_000)["epochs"] >= of(60_000)["epochs"]


@pytest.mark.parametrize("lists", [2000, 4999, 6000, 15_000])
def test_between_the_ends_the_steps_are_always_about_as_many(lists: int) -> None:
    steps = of(lists)["epochs"] * lists / of(lists)["batch_size"]
    assert steps == pytest.approx(sizing.STEPS, rel=0.05)


def test_only_training_lists_count() -> None:
    few, all_of_them = corpus(6000), corpus(6000)
    few = Corpus(few.items, few.offsets, np.repeat([0, 1, 2], 2000).astype(np.uint8), few.vocabulary, few.summary)
    assert fitting("fans", "best", few)["epochs"] == fitting("fans", "best", corpus(2000))["epochs"]
    assert fitting("fans", "best", few) != fitting("fans", "best", all_of_them)


def test_a_corpus_of_many_items_gets_a_wider_network_that_drops_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizing, "MANY_ITEMS", 1000)
    small, large = of(400), of(600)
    for name in ("width", "heads", "feedforward"):
        assert large[name] == 2 * small[name]
    assert large["dropout"] < small["dropout"]


def test_a_plan_of_recipe_best_takes_them_and_what_is_given_goes_before() -> None:
    plan = make_plan("fans", BEST, corpus(50))
    assert {name: (plan.config | vars(plan.training))[name] for name in of(50)} == of(50)
    given = make_plan("fans", BEST | {"epochs": 3, "width": 8, "dropout": 0.5}, corpus(50))
    assert (given.training.epochs, given.config["width"], given.config["dropout"]) == (3, 8, 0.5)
    assert given.training.batch_size == of(50)["batch_size"]


def test_every_fitted_corpus_makes_a_network_that_can_be_built() -> None:
    assert make_plan("fans", BEST, corpus(3)).build().config.positions == 5
