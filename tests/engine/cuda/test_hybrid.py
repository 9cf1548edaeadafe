"""The hybrid model on a GPU, and the choice of its backend."""

import copy
from typing import Any

import numpy as np
import pytest

from engine.cuda.hybrid_cases import ALL_RULES, ITEMS, MODELS, requests
from engine.native.test_hybrid import hybrid_model
from engine.parity import FP32, faults
from fansrec.engine.backends import open_engine
from fansrec.engine.cuda import backend as cuda_backend
from fansrec.engine.cuda import driver
from fansrec.engine.interface import warn_once
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.models.fans import Fans, FansConfig

gpu = pytest.mark.skipif(driver.missing() is not None, reason=f"no GPU to try it on: {driver.missing()}")


def test_automatic_choice_leaves_the_hybrid_model_to_torch(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    warn_once.cache_clear()
    monkeypatch.setattr(cuda_backend, "missing", lambda: None)
    monkeypatch.setattr(cuda_backend, "open_backend", lambda model, items, mode: "the kernels")
    model: Any = hybrid_model(**MODELS["all parts"])
    assert open_engine(model, ITEMS, "cuda").backend == "torch"
    assert "not yet measured on a GPU" in caplog.text
    kernels: Any = "the kernels"
    assert open_engine(model, ITEMS, "cuda", backend="cuda") == kernels
    assert open_engine(Fans(FansConfig((0, 20, 40), 30)), 40, "cuda") == kernels


def on_gpu(kind: str, mode: str = "one-pass") -> tuple[Any, Any]:
    """Return the model in float64, and an engine with the kernels."""
    model = hybrid_model(**MODELS[kind])
    engine: Any = open_engine(copy.deepcopy(model).cuda(), ITEMS, "cuda", mode, backend="cuda")
    assert engine.backend == "cuda"
    return model.double(), engine


@gpu
@pytest.mark.parametrize("rules", ALL_RULES.values(), ids=ALL_RULES)
@pytest.mark.parametrize("kind", MODELS)
def test_items_of_the_gpu_match_float64(kind: str, rules: Rules) -> None:
    double, engine = on_gpu(kind)
    inputs, counts = requests(200)
    answers = engine.continue_lists(inputs, counts, rules)
    assert faults(double, "one-pass", inputs, counts, rules, answers, FP32) == []


@gpu
@pytest.mark.parametrize("kind", ["all parts", "linear part alone", "next item only"])
def test_recall_of_the_gpu_matches_float64(kind: str) -> None:
    double, engine = on_gpu(kind, "recall")
    inputs, counts = requests(200)
    answers = engine.continue_lists(inputs, counts, Rules())
    assert faults(double, "recall", inputs, counts, Rules(), answers, FP32) == []


@gpu
@pytest.mark.parametrize("rules", ALL_RULES.values(), ids=ALL_RULES)
@pytest.mark.parametrize("kind", MODELS)
def test_list_gets_the_same_items_alone_and_in_a_batch(kind: str, rules: Rules) -> None:
    _, engine = on_gpu(kind)
    inputs, counts = requests(50)
    together = engine.continue_lists(inputs, counts, rules)
    for given, count, expected in zip(inputs, counts, together, strict=True):
        (alone,) = engine.continue_lists([given], count, rules)
        assert alone.items.tolist() == expected.items.tolist()


@gpu
def test_answers_of_the_gpu_are_the_same_every_time() -> None:
    _, engine = on_gpu("all parts")
    inputs, counts = requests(200)
    first = engine.continue_lists(inputs, counts, Rules())
    for _ in range(20):
        again = engine.continue_lists(inputs, counts, Rules())
        assert all(np.array_equal(a.items, b.items) for a, b in zip(first, again, strict=True))


@gpu
@pytest.mark.parametrize("kind", ["all parts", "network alone", "vanilla", "not causal", "wide"])
def test_arranged_items_of_the_gpu_are_those_of_torch(kind: str) -> None:
    double, engine = on_gpu(kind)
    inputs, counts = requests(100)
    rules = Rules(fill="arranged")
    expected = TorchEngine(double, ITEMS).continue_lists(inputs, counts, rules)
    answers = engine.continue_lists(inputs, counts, rules)
    equal = [a.items.tolist() == b.items.tolist() for a, b in zip(answers, expected, strict=True)]
    assert sum(equal) >= 98  # ties may change places
    assert all(set(a.items) == set(b.items) for a, b in zip(answers, expected, strict=True))
