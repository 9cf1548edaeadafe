"""Linear models, popularity and V-STAN in the native kernel, compared with float64."""

import copy
import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from engine.native.test_backend import same
from engine.parity import faults
from engine.random_models import RULES, lists
from fansrec.engine.backends import open_engine
from fansrec.engine.modes import generation_modes
from fansrec.engine.native.backend import NativeEngine
from fansrec.engine.native.library import BAD_MODEL, library
from fansrec.engine.native.linear import LinearWeights
from fansrec.engine.native.structures import LinearModel, Vstan
from fansrec.engine.native.vstan import VstanWeights
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadArtifact
from fansrec.models.registry import build
from fansrec.models.stored import stored_model
from linear_models import KEPT

pytestmark = pytest.mark.usefixtures("native_kernel")

ITEMS = 40  # as many as the rules have groups for
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "popularity": ("popularity", {}),
    "item-knn": ("item-knn", {}),
    "item-knn, pruned": ("item-knn", {KEPT: 7}),
    "rp3beta": ("rp3beta", {}),
    "ease": ("ease", {"regularization": 5.0}),
    "ease, pruned": ("ease", {"regularization": 5.0, KEPT: 9}),
    "slist": ("slist", {"input_decay": 2.0}),
    "slist, pruned": ("slist", {"input_decay": 2.0, KEPT: 9}),
    "vstan": ("vstan", {"neighbors": 5, "input_decay": 0.5, "list_decay": 1.0}),
    "vstan, sampled": ("vstan", {"neighbors": 3, "sample_size": 6}),
    "vstan without decay": ("vstan", {"item_decay": 0.0, "shared_decay": 0.0, "idf_weight": 0.0}),
    "vstan with weights that underflow": ("vstan", {"input_decay": 1e-6, "list_decay": 1e-4}),
}


def fitted(name: str, settings: dict[str, Any], items: int = ITEMS, count: int = 60) -> Any:
    """Return a model that was fitted to random lists; some items are in none of them."""
    random = np.random.default_rng(3)
    given = [random.integers(items - 4, size=random.integers(2, 12)) for _ in range(count)]
    model = build(name, {"category_starts": (0, 11, items), **settings})
    model.fit(np.concatenate(given).astype(np.int32), np.cumsum([0, *map(len, given)]))
    return model


@pytest.mark.parametrize("name", MODELS)
def test_every_model_matches_the_reference_under_every_rule(name: str) -> None:
    model = fitted(*MODELS[name])
    double, (inputs, counts) = copy.deepcopy(model).double(), lists(15)
    for mode in generation_modes(model):
        engine = NativeEngine(model, ITEMS, mode)
        for rules in (*RULES.values(), Rules(min_score=0.01)):
            assert faults(double, mode, inputs, counts, rules, engine.continue_lists(inputs, counts, rules)) == []


@pytest.mark.parametrize("name", MODELS)
def test_items_and_scores_are_those_of_torch(name: str) -> None:
    model = fitted(*MODELS[name])
    inputs, counts = lists(30)
    for mode in generation_modes(model):
        expected = TorchEngine(model, ITEMS, generation=mode).continue_lists(inputs, counts, Rules())
        answers = NativeEngine(model, ITEMS, mode).continue_lists(inputs, counts, Rules())
        for one, two in zip(answers, expected, strict=True):
            assert one.scores == pytest.approx(two.scores, rel=1e-5, abs=1e-6)
            assert one.categories.tolist() == two.categories.tolist() or one.items.tolist() != two.items.tolist()


def test_negative_scores_are_answered_after_all_others() -> None:
    model = fitted("ease", {})
    model.weights.matrix = -model.weights.matrix.abs()
    (answer,) = NativeEngine(model, ITEMS).continue_lists([np.array([1, 3])], ITEMS, Rules())
    assert len(answer.items) == ITEMS - 2
    assert (np.diff(answer.scores) <= 0).all() and answer.scores[-1] < 0


def test_first_of_items_with_equal_scores_is_selected() -> None:
    model = build("popularity", {"category_starts": (0, ITEMS)})
    model.counts = torch.ones(ITEMS)
    for mode in generation_modes(model):
        (answer,) = NativeEngine(model, ITEMS, mode).continue_lists([np.array([1, 3])], 5, Rules())
        assert answer.items.tolist() == [0, 2, 4, 5, 6]


@pytest.mark.parametrize("name", ["slist, pruned", "vstan"])
def test_lists_get_the_same_answer_alone_in_a_batch_and_with_two_threads(name: str) -> None:
    model = fitted(*MODELS[name])
    inputs, counts = lists(30)
    one, two = (NativeEngine(model, ITEMS, threads=threads) for threads in (1, 2))
    together = one.continue_lists(inputs, counts, Rules())
    assert same(together, two.continue_lists(inputs, counts, Rules()))
    alone = [one.continue_lists([given], count, Rules())[0] for given, count in zip(inputs, counts, strict=True)]
    assert same(together, alone)


@pytest.mark.parametrize("name", ["ease, pruned", "vstan"])
def test_large_catalog_matches_the_reference(name: str) -> None:
    items = 5000
    model = fitted(MODELS[name][0], MODELS[name][1] | {"dense_items": 10} if name != "vstan" else {}, items, 300)
    inputs, counts = lists(6, items)
    answers = NativeEngine(model, items).continue_lists(inputs, counts, Rules())
    assert faults(copy.deepcopy(model).double(), "recall", inputs, counts, Rules(), answers) == []


def test_auto_selects_the_kernel() -> None:
    for name, settings in MODELS.values():
        assert open_engine(fitted(name, settings), ITEMS).backend == "native"


def test_popularity_without_counts_is_refused() -> None:
    model = build("popularity", {"category_starts": (0, ITEMS)})
    with pytest.raises(BadArtifact, match="no score of the model is a finite number"):
        NativeEngine(model, ITEMS).continue_lists([np.array([1])], 3, Rules())


LINEAR: dict[str, Callable[[Any], object]] = {
    "another number of items": lambda m: setattr(m.weights, "vocabulary", 7),
    "no items": lambda m: setattr(m.weights, "vocabulary", 0),
    "no base": lambda m: setattr(m, "base", None),
    "a negative width": lambda m: setattr(m.weights, "width", -1),
    "a huge width": lambda m: setattr(m.weights, "width", 1 << 40),
    "no weights": lambda m: setattr(m.weights, "weights", None),
    "a matrix that is not square": lambda m: setattr(m.weights, "items", None),
    "a decay of 0": lambda m: setattr(m.weights, "decay", 0.0),
    "a decay that is not a number": lambda m: setattr(m.weights, "decay", np.nan),
}
VSTAN: dict[str, Callable[[Any], object]] = {
    "no list factors": lambda m: setattr(m, "list_factors", None),
    "no item factors": lambda m: setattr(m, "item_factors", None),
    "no base": lambda m: setattr(m, "base", None),
    "a negative sample": lambda m: setattr(m, "sample_size", -1),
    "no neighbors": lambda m: setattr(m.memory, "neighbors", 0),
    "another number of items": lambda m: setattr(m.memory, "vocabulary", 7),
    "no lists": lambda m: setattr(m.memory, "lists", None),
}


def outcome(weights: Any) -> int:
    return int(library().fans_open(ctypes.addressof(weights.model), ctypes.byref(ctypes.c_void_p())))


@pytest.mark.parametrize("change", LINEAR.values(), ids=LINEAR)
def test_linear_model_with_impossible_parts_is_refused(change: Callable[[Any], object]) -> None:
    weights = LinearWeights(stored_model(fitted(*MODELS["ease, pruned"])))
    change(LinearModel.from_address(weights.model.linear))
    assert outcome(weights) == BAD_MODEL


@pytest.mark.parametrize("change", VSTAN.values(), ids=VSTAN)
def test_vstan_with_impossible_parts_is_refused(change: Callable[[Any], object]) -> None:
    weights = VstanWeights(stored_model(fitted(*MODELS["vstan"])))
    change(Vstan.from_address(weights.model.vstan))
    assert outcome(weights) == BAD_MODEL
