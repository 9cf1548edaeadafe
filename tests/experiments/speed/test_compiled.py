"""The compiled arm. Compiling takes too long for most tests: there, `torch.compile` returns the function as it is."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.experiments.speed import compiled
from fansrec.experiments.speed.compiled import LISTS, CompiledEngine
from fansrec.experiments.speed.compiled_parts import AllItems, CompiledScores, smallest
from fansrec.experiments.speed.latency import latency
from fansrec.experiments.speed.measuring import in_calls
from fansrec.experiments.speed.options import LatencyOptions, ThroughputOptions
from fansrec.experiments.speed.random_models import random_best, random_fans
from fansrec.experiments.speed.workloads import questions_of

ITEMS, LONGEST = 200, 62
QUESTIONS = questions_of("aotm", ITEMS, 12, seed=0)
INPUTS, COUNTS = [question.input for question in QUESTIONS], [question.k for question in QUESTIONS]
RULES = Rules(keep_seen=True)


@pytest.fixture
def shapes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[int, ...], ...]]:
    """Replace `torch.compile`, and collect the shapes with which functions of fixed shapes are called."""
    called = []

    def fake(function: Callable[..., Any], dynamic: bool = False, **_: Any) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if not dynamic:
                called.append(tuple(tuple(argument.shape) for argument in arguments))
            return function(*arguments)

        return call

    monkeypatch.setattr(torch, "compile", fake)
    return called


MODELS: dict[str, Callable[[], Any]] = {
    "two-stage": lambda: random_fans(ITEMS, 4, LONGEST, 0),
    "vanilla": lambda: random_fans(ITEMS, 1, LONGEST, 0),
    "hybrid": lambda: random_best("aotm", ITEMS, 4, LONGEST, 0),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("batch", [1, 5, 12])
def test_padding_does_not_change_the_items(name: str, batch: int, shapes: list[Any]) -> None:
    model = MODELS[name]()
    engine, plain = CompiledEngine(model, ITEMS, "cpu", LONGEST), TorchEngine(model, ITEMS)
    for first in range(0, 12, batch):
        some = slice(first, first + batch)
        for rules in (RULES, Rules()):
            found = engine.continue_lists(INPUTS[some], COUNTS[some], rules)
            expected = plain.continue_lists(INPUTS[some], COUNTS[some], rules)
            assert [one.items.tolist() for one in found] == [one.items.tolist() for one in expected]
    assert shapes


def test_many_lengths_have_few_shapes(shapes: list[Any]) -> None:
    engine = CompiledEngine(random_fans(ITEMS, 4, LONGEST, 0), ITEMS, "cpu", LONGEST)
    for length in range(4, 58):
        engine.continue_lists([np.arange(length - length // 2)], length // 2, RULES)
    assert {shape[0] for shape in shapes} == {(1, 16), (1, 31), (1, 47), (1, 62)}
    assert len({*shapes}) <= 8


def test_numbers_of_lists_are_padded_too(shapes: list[Any]) -> None:
    engine = CompiledEngine(random_fans(ITEMS, 4, LONGEST, 0), ITEMS, "cpu", LONGEST)
    engine.continue_lists([np.arange(10)] * 70, 10, RULES)  # 64 and 6
    assert {shape[0][0] for shape in shapes} <= {*LISTS}


def test_all_shapes_of_the_calls_are_prepared(shapes: list[Any]) -> None:
    engine = CompiledEngine(random_fans(ITEMS, 4, LONGEST, 0), ITEMS, "cpu", LONGEST)
    calls = in_calls(QUESTIONS, 1)
    engine.prepare(calls)
    prepared = {*shapes}
    shapes.clear()
    for given, k in zip(INPUTS, COUNTS, strict=True):
        engine.continue_lists([given], k, RULES)
    assert {*shapes} <= prepared


def test_scores_of_all_items_equal_those_by_category(shapes: list[Any]) -> None:
    classifier = random_fans(ITEMS, 4, LONGEST, 0).classifier
    hidden = torch.randn(20, 64)
    with torch.inference_mode():
        torch.testing.assert_close(AllItems(classifier).scores(hidden), classifier.scores(hidden, 0))
        for rank in (0, 1):
            found = CompiledScores(classifier, AllItems(classifier).scores).best(hidden, rank, 5, None)
            expected = classifier.best(hidden, rank, 5, None)
            assert torch.equal(found[1], expected[1])


def test_model_keeps_its_own_parts(shapes: list[Any]) -> None:
    model = random_fans(ITEMS, 4, LONGEST, 0)
    encode, classifier = model.encode, model.classifier
    CompiledEngine(model, ITEMS, "cpu", LONGEST)
    assert model.encode == encode and model.classifier is classifier
    assert type(classifier)._inside is type(model.classifier)._inside and "_inside" not in vars(classifier)


def test_larger_sizes_than_the_fixed_ones_are_used_as_they_are() -> None:
    assert [smallest((4, 8), needed) for needed in (1, 4, 5, 9)] == [4, 4, 8, 9]


@pytest.fixture
def forget() -> Iterator[None]:
    """Forget whether `torch.compile` can be used."""
    compiled.why_not.cache_clear()
    yield
    compiled.why_not.cache_clear()


def test_rows_have_the_compiled_arm_with_the_same_items(forget: None, shapes: list[Any]) -> None:
    options = LatencyOptions("aotm", items=60, categories=(3,), arms=("eager", "compiled"), lists=2, seconds=0)
    rows = [row for row in latency(options) if row["arm"] == "compiled"]
    assert [row["variant"] for row in rows] == ["paper", "best"]
    assert all(row["same_or_tied_items"] == 1 and row["same_items_of"] > 0 for row in rows)


def test_arm_is_left_out_with_a_message_if_nothing_can_be_compiled(
    forget: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(function: Any) -> Any:
        raise RuntimeError("no compiler was found\nand a long explanation")

    monkeypatch.setattr(torch, "compile", failing)
    said: list[str] = []
    options = LatencyOptions("aotm", items=60, categories=(3,), arms=("eager", "compiled"), lists=1, seconds=0)
    rows = latency(options, say=said.append)
    assert {row["arm"] for row in rows} == {"eager"}
    assert said == ["torch.compile cannot be used here (no compiler was found); the arm compiled is left out"]


def test_arm_is_measured_only_on_request() -> None:
    assert "compiled" not in LatencyOptions().arms and "compiled" not in ThroughputOptions().arms


@pytest.mark.long
def test_compiled_code_gives_the_same_items(forget: None) -> None:
    assert compiled.why_not("cpu") is None
    model = random_fans(ITEMS, 4, LONGEST, 0)
    found = CompiledEngine(model, ITEMS, "cpu", LONGEST).continue_lists(INPUTS[:2], COUNTS[:2], RULES)
    expected = TorchEngine(model, ITEMS).continue_lists(INPUTS[:2], COUNTS[:2], RULES)
    assert [one.items.tolist() for one in found] == [one.items.tolist() for one in expected]
