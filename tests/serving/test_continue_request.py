"""The cost of requests to continue lists, by which the service decides whether it is overloaded."""

from typing import Any

import pytest

from fansrec.serving.continue_request import _cost
from fansrec.serving.requests import ContinueRequest


def cost(given: int, **more: Any) -> int:
    return _cost(ContinueRequest(lists=[[f"i{item}" for item in range(given)]], **more))


def test_items_given_and_requested_are_the_cost() -> None:
    assert cost(20, k=10) == 30
    assert cost(20, k=10, exclude=["a", "b"], allow=["c", "d"]) == 32


@pytest.mark.parametrize(
    ("given", "k", "least", "most"), [(1, 10, 4, 10), (20, 10, 9, 19), (50, 50, 40, 55), (500, 500, 70, 90)]
)
def test_explanations_cost_as_many_answers_as_were_measured(given: int, k: int, least: int, most: int) -> None:
    assert least <= cost(given, k=k, explain=True) / cost(given, k=k) <= most


def test_explanation_of_one_allowed_item_costs_little() -> None:
    assert cost(50, k=10, allow=["a"], explain=True) == 5 * cost(50, k=10, allow=["a"])
