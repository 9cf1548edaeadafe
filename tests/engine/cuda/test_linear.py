"""Linear models and popularity in the CUDA kernels, on a GPU where there is one and emulated on the CPU."""

import copy
from typing import Any

import numpy as np
import pytest
import torch

from engine.cuda.emulation import emulate_gpu
from engine.cuda.test_hybrid import emulated, gpu, slowly_emulated
from engine.native.test_backend import same
from engine.native.test_linear import ITEMS, MODELS, fitted
from engine.parity import faults
from engine.random_models import RULES, lists
from fansrec.engine.cuda.backend import open_backend, why_not
from fansrec.engine.cuda.hybrid.sizes import SparseSizes
from fansrec.engine.interface import Engine
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadArtifact, BadSetting
from fansrec.models.registry import build
from linear_models import KEPT

KINDS = [name for name in MODELS if not name.startswith("vstan")]
MANY = 3000  # items of a large catalog: more than are sorted, so that the best must be found first
ALL_RULES = RULES | {
    "a high floor": Rules(min_score=0.01),
    "all at once": Rules(keep_seen=True, exclude=[3], allow=range(30), groups=np.arange(ITEMS) % 4, max_per_group=3),
}


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let nothing fall back to torch unnoticed."""

    def refuse(*_: Any) -> None:
        raise AssertionError("the kernels fell back to torch")

    monkeypatch.setattr("fansrec.engine.cuda.engine.TorchEngine.continue_lists", refuse)
    return monkeypatch


def opened(model: Any, where: str, patch: pytest.MonkeyPatch) -> Engine:
    items = model.config.category_starts[-1]
    if where == "emulated":
        emulate_gpu(patch)
        return open_backend(model, items, "recall")
    return open_backend(copy.deepcopy(model).cuda(), items, "recall")


def check(engine: Engine, model: Any, inputs: Any, counts: Any, rules: Rules) -> None:
    answers = engine.continue_lists(inputs, counts, rules)
    assert faults(copy.deepcopy(model).double(), "recall", inputs, counts, rules, answers) == []


def large(name: str) -> Any:
    """Return a model of many items, most of which have no weight from an input if it is pruned."""
    settings = {"pruned": {KEPT: 50, "dense_items": 10}, "matrix": {}}
    kind, _, storage = name.partition(", ")
    return fitted(kind, settings[storage] if storage else {}, MANY, 300)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("where", [gpu, emulated])
def test_every_model_matches_float64_under_every_rule(where: str, name: str, patch: pytest.MonkeyPatch) -> None:
    model, (inputs, counts) = fitted(*MODELS[name]), lists(6)
    engine = opened(model, where, patch)
    for rules in ALL_RULES.values():
        check(engine, model, inputs, counts, rules)
        check(engine, model, inputs[2:3], counts[2:3], rules)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("where", [gpu, slowly_emulated])
def test_items_and_scores_are_those_of_torch(where: str, name: str, patch: pytest.MonkeyPatch) -> None:
    model, (inputs, counts) = fitted(*MODELS[name]), lists(12)
    right = TorchEngine(model, ITEMS, generation="recall")._answer(inputs, counts, Rules())
    for one, two in zip(opened(model, where, patch).continue_lists(inputs, counts, Rules()), right, strict=True):
        assert one.scores == pytest.approx(two.scores, rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("name", ["slist, pruned", "ease, matrix", "popularity"])
@pytest.mark.parametrize("where", [gpu, slowly_emulated])
def test_large_catalog_matches_float64(where: str, name: str, patch: pytest.MonkeyPatch) -> None:
    model, (inputs, _) = large(name), lists(3, MANY, longest=30)
    engine = opened(model, where, patch)
    groups = Rules(groups=np.arange(MANY) % 700, max_per_group=1)
    for rules, count in ((Rules(), 500), (groups, 500), (Rules(exclude=range(100), min_score=1e-6), 50)):
        check(engine, model, inputs, [count] * len(inputs), rules)
        check(engine, model, inputs[:1], [count], rules)


@pytest.mark.parametrize("name", ["item-knn", "slist, pruned"])
@pytest.mark.parametrize("where", [gpu, slowly_emulated])
def test_sums_in_global_memory_are_cleared(where: str, name: str, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SparseSizes, "sums_fit", lambda self, tiles: False)
    model, (inputs, counts) = fitted(*MODELS[name]), lists(6)
    engine = opened(model, where, patch)
    for _ in range(2):
        check(engine, model, inputs, counts, Rules())


@pytest.mark.parametrize("name", ["ease", "slist, pruned"])
@pytest.mark.parametrize("where", [gpu, emulated])
def test_list_gets_the_same_answer_alone_in_a_batch_and_again(where: str, name: str, patch: pytest.MonkeyPatch) -> None:
    engine, (inputs, counts) = opened(fitted(*MODELS[name]), where, patch), lists(6)
    together = engine.continue_lists(inputs, counts, Rules())
    alone = [engine.continue_lists([given], count, Rules())[0] for given, count in zip(inputs, counts, strict=True)]
    assert same(together, alone)
    assert same(together, engine.continue_lists(inputs, counts, Rules()))


@pytest.mark.parametrize("where", [gpu, emulated])
def test_negative_scores_are_answered_after_all_others(where: str, patch: pytest.MonkeyPatch) -> None:
    model = fitted("ease", {})
    model.weights.matrix = -model.weights.matrix.abs()
    (answer,) = opened(model, where, patch).continue_lists([np.array([1, 3])], ITEMS, Rules())
    assert len(answer.items) == ITEMS - 2
    assert (np.diff(answer.scores) <= 0).all()
    assert answer.scores[-1] < 0


@pytest.mark.parametrize("where", [gpu, emulated])
def test_items_without_weights_are_ordered_by_popularity_and_then_by_index(
    where: str, patch: pytest.MonkeyPatch
) -> None:
    model = fitted("item-knn", {KEPT: 7})
    model.weights.weights.zero_()
    model.weights.popularity = torch.ones(ITEMS)
    model.weights.popularity[9] = 2
    (answer,) = opened(model, where, patch).continue_lists([np.array([1, 3])], 5, Rules())
    assert answer.items.tolist() == [9, 0, 2, 4, 5]


@pytest.mark.parametrize("where", [gpu, emulated])
def test_popularity_without_counts_is_refused(where: str, patch: pytest.MonkeyPatch) -> None:
    engine = opened(build("popularity", {"category_starts": (0, ITEMS)}), where, patch)
    with pytest.raises(BadArtifact, match="no score of the model is a finite number"):
        engine.continue_lists([np.array([1])], 3, Rules())


@pytest.mark.parametrize("where", [gpu, emulated])
def test_arranged_answers_and_invalid_indices_are_refused(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = opened(fitted("item-knn", {}), where, monkeypatch)
    with pytest.raises(BadSetting, match="arrange"):
        engine.continue_lists([np.array([1])], 3, Rules(fill="arranged"))
    with pytest.raises(BadSetting, match="index"):
        engine.continue_lists([np.array([ITEMS])], 3, Rules())


@pytest.mark.parametrize("where", [gpu, slowly_emulated])
def test_long_inputs_are_run_and_longer_ones_fall_back(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, random = fitted(*MODELS["slist, pruned"]), np.random.default_rng(0)
    engine: Any = opened(model, where, monkeypatch)
    for length in (engine._max_length - 10, engine._max_length + 1):
        check(engine, model, [random.integers(ITEMS, size=length)], [10], Rules(keep_seen=True))


def test_reason_is_given_for_what_the_kernels_cannot_run() -> None:
    model = fitted("ease", {})
    assert why_not(model, "recall") is None
    assert "autoregressive" in str(why_not(model, "autoregressive"))
    assert "float32" in str(why_not(copy.deepcopy(model).double(), "recall"))
    model.weights.matrix[3, 4] = torch.nan
    assert "not a number" in str(why_not(model, "recall"))
    assert "linear models" in str(why_not(build("markov", {"category_starts": (0, ITEMS)}), "recall"))
