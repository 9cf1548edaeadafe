"""The CUDA kernels, run by a CPU (emulation/): their answers are compared with float64 scores."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.cuda.emulation import emulate_gpu, why_not_here
from engine.cuda.hybrid_cases import ALL_RULES, ITEMS, MODELS, QUICK_RULES, few_requests, requests
from engine.native.test_hybrid import hybrid_model
from engine.parity import FP16, FP32, faults
from fansrec.engine.cuda import backend
from fansrec.engine.interface import Continuation
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.models.registry import build
from skipping import skip_or_fail

STARTS = (0, 70, 130, 200)
PAPER: dict[str, tuple[str, dict[str, Any]]] = {
    "two-stage": ("fans", {}),
    "vanilla": ("fans", {"classifier": "vanilla"}),
    "bert4rec": ("bert4rec", {}),
    "no categories embedded": ("fans", {"use_categories": False}),
    "four heads": ("fans", {"heads": 4, "layers": 2}),
    "wide": ("fans", {"width": 128, "feedforward": 512}),
}
PAPER_RULES = [Rules(), Rules(keep_seen=True), Rules(exclude=range(0, 190, 3)), Rules(allow=range(40, 180))]


class NoFallback:
    """Replaces the torch engine, so that no answer is left to it."""

    def continue_lists(self, inputs: Sequence[Any], counts: Sequence[int], rules: Rules) -> list[Continuation]:
        raise AssertionError(f"left to torch: inputs of {[len(given) for given in inputs]} items, {counts} requested")


@pytest.fixture(autouse=True)
def emulated_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    if (reason := why_not_here()) is not None:
        skip_or_fail(reason)
    emulate_gpu(monkeypatch)


def open_kernels(model: Any, items: int, mode: str) -> Any:
    assert backend.why_not(model, mode) is None
    engine = backend.open_backend(model, items, mode)
    engine.fallback = NoFallback()
    return engine


def paper_model(kind: str) -> Any:
    name, values = PAPER[kind]
    torch.manual_seed(0)
    model = build(name, {"category_starts": STARTS, "positions": 60, "dropout": 0.0} | values).eval()
    torch.nn.init.normal_(model.embed.positions.weight)  # far apart, so that positions differ
    with torch.no_grad():
        model.classifier.items.weight.mul_(10)  # so that scores differ by much more than the tolerance
    return model


def paper_lists(count: int) -> tuple[list[NDArray[np.int64]], list[int]]:
    random = np.random.default_rng(0)
    lengths = [0, 1, 20, *random.integers(2, 30, size=count)][:count]
    return [random.integers(STARTS[-1], size=length) for length in lengths], random.integers(1, 9, size=count).tolist()


def check_paper(kind: str, rules: Rules, count: int) -> None:
    model, (inputs, counts) = paper_model(kind), paper_lists(count)
    mode = TorchEngine(model, STARTS[-1]).generation
    engine = open_kernels(model, STARTS[-1], mode)
    double = copy.deepcopy(model).double()
    together = engine.continue_lists(inputs, counts, rules)
    alone = [engine.continue_lists([given], k, rules)[0] for given, k in zip(inputs, counts, strict=True)]
    assert faults(double, mode, inputs, counts, rules, together, FP16) == []
    assert [one.items.tolist() for one in alone] == [many.items.tolist() for many in together]


@pytest.mark.parametrize("kind", ["two-stage", "vanilla", "bert4rec"])
def test_paper_models_match_float64(kind: str) -> None:
    check_paper(kind, Rules(exclude=[1, 2, 3]), 4)


@pytest.mark.long
@pytest.mark.parametrize("rules", PAPER_RULES)
@pytest.mark.parametrize("kind", PAPER)
def test_paper_models_and_rules_match_float64(kind: str, rules: Rules) -> None:
    check_paper(kind, rules, 24)  # more lists than clusters that run at once


def check_hybrid(model: Any, rules: Rules, inputs: Any, counts: list[int], mode: str = "one-pass") -> None:
    engine, double = open_kernels(model, ITEMS, mode), copy.deepcopy(model).double()
    answers = engine.continue_lists(inputs, counts, rules)
    assert faults(double, mode, inputs, counts, rules, answers, FP32) == []
    (alone,) = engine.continue_lists(inputs[1:2], counts[1:2], rules)
    assert alone.items.tolist() == answers[1].items.tolist()


@pytest.mark.parametrize("kind", ["all parts", "network alone", "memory alone", "linear part alone"])
def test_hybrid_models_match_float64(kind: str) -> None:
    check_hybrid(hybrid_model(**MODELS[kind]), Rules(), *few_requests())


@pytest.mark.parametrize("rules", QUICK_RULES.values(), ids=QUICK_RULES)
def test_rules_are_applied_and_the_best_allowed_items_returned(rules: Rules) -> None:
    inputs, counts = few_requests()
    check_hybrid(hybrid_model(**MODELS["memory and linear part"]), rules, inputs[1:], counts[1:])


def test_all_rules_apply_to_all_parts() -> None:
    inputs, counts = few_requests()
    check_hybrid(hybrid_model(**MODELS["all parts"]), ALL_RULES["all at once"], inputs[:2], counts[:2])


def check_arranged(kind: str, inputs: Any, counts: list[int]) -> None:
    model, rules = hybrid_model(**MODELS[kind]), Rules(fill="arranged")
    expected = TorchEngine(model, ITEMS).continue_lists(inputs, counts, rules)
    answers = open_kernels(model, ITEMS, "one-pass").continue_lists(inputs, counts, rules)
    for answer, right in zip(answers, expected, strict=True):
        assert answer.items.tolist() == right.items.tolist()
        np.testing.assert_allclose(answer.scores, right.scores, atol=1e-5)


def test_arranged_items_are_those_of_torch() -> None:
    inputs, counts = few_requests()
    check_arranged("all parts", inputs[1:], counts[1:])


@pytest.mark.long
@pytest.mark.parametrize("rules", ALL_RULES.values(), ids=ALL_RULES)
@pytest.mark.parametrize("kind", MODELS)
def test_every_hybrid_model_and_rule_matches_float64(kind: str, rules: Rules) -> None:
    check_hybrid(hybrid_model(**MODELS[kind]), rules, *requests(20))  # more lists than clusters that run at once


@pytest.mark.long
@pytest.mark.parametrize("kind", ["all parts", "linear part alone", "next item only"])
def test_recall_matches_float64(kind: str) -> None:
    check_hybrid(hybrid_model(**MODELS[kind]), Rules(), *requests(20), "recall")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["network alone", "vanilla", "not causal", "wide"])
def test_arranged_items_of_other_models_are_those_of_torch(kind: str) -> None:
    check_arranged(kind, *requests(20))
