"""Sums and bounds from products of 16-bit integers (VNNI), on machines that have them, never lose the best item."""

import copy
from typing import Any

import numpy as np
import pytest
import torch

from engine.parity import faults
from engine.random_models import SIZES, lists, random_model
from fansrec.engine.native.backend import NativeEngine
from fansrec.engine.rules import Rules

pytestmark = pytest.mark.usefixtures("native_kernel")

ITEMS = 600
ANY = Rules()


def model_with(width: int) -> Any:
    values = {"category_starts": (0, ITEMS), "classifier": "vanilla", "width": width, "heads": 1, "feedforward": 16}
    return random_model("fans", SIZES | values)


def faults_of(model: Any, rules: Rules = ANY) -> list[str]:
    """Return what is wrong with the answers to some lists, by scores in float64."""
    inputs, counts = lists(8, ITEMS)
    answers = NativeEngine(model, ITEMS).continue_lists(inputs, counts, rules)
    return faults(copy.deepcopy(model).double(), "one-pass", inputs, counts, rules, answers)


@pytest.mark.parametrize("width", [2, 7, 15, 16, 17, 33, 64, 100])
def test_widths_that_do_not_fill_a_group_of_products_match_float64(width: int) -> None:
    assert faults_of(model_with(width)) == []
    assert faults_of(model_with(width), Rules(exclude=range(0, ITEMS, 3), min_score=-8.0)) == []


def test_best_item_is_found_where_rounding_reverses_the_order() -> None:
    """All but one number of the column are below half a step, so rounded they are 0; the order depends on them."""
    model = model_with(64)
    rest = torch.linspace(-1, 1, ITEMS)[:, None]
    with torch.no_grad():
        model.classifier.transform.norm.weight.zero_()
        model.classifier.transform.norm.bias.fill_(0.475 / 32_766)
        model.classifier.transform.norm.bias[0] = 1
        model.classifier.items.weight.copy_(0.4 * rest.expand(-1, 64))
        model.classifier.items.weight[:, 0] = 0.4 - 3e-4 * rest[:, 0]  # the rest adds 3.65e-4 times as much
        model.classifier.items.bias.zero_()
    assert faults_of(model) == []


def test_best_of_items_that_differ_by_less_than_a_step_is_found() -> None:
    model = model_with(64)
    vectors = model.classifier.items.weight
    with torch.no_grad():
        vectors.copy_(vectors[0] + 3e-5 * torch.randn_like(vectors))  # a step is 4e-5
        model.classifier.items.bias.zero_()
    assert faults_of(model) == []


@pytest.mark.parametrize("sign", [1, -1])
def test_largest_possible_sums_do_not_overflow(sign: int) -> None:
    model = model_with(64)
    with torch.no_grad():
        model.classifier.transform.norm.weight.zero_()
        model.classifier.transform.norm.bias.fill_(sign)  # all numbers of a column are as large as its largest
        model.classifier.items.weight.fill_(0.01)
        model.classifier.items.weight[::2] = -0.01  # and so are those of an item
        model.classifier.items.bias.copy_(torch.linspace(0, 0.1, ITEMS))
    assert faults_of(model) == []


@pytest.mark.parametrize("number", [20.0, 100.0, 1e6, 1e30])
def test_item_with_coarse_steps_does_not_change_answers(number: float) -> None:
    model = model_with(64)
    with torch.no_grad():
        model.classifier.items.weight[10, 0] = number
    inputs, counts = lists(8, ITEMS)
    for given, answer in zip(inputs, NativeEngine(model, ITEMS).continue_lists(inputs, counts, Rules()), strict=True):
        assert np.isfinite(answer.scores).all()
        assert not {*answer.items.tolist()} & {*given.tolist()}
    if number <= 100:  # beyond, float32 cannot represent the scores within the tolerance of the judge
        assert faults_of(model) == []
