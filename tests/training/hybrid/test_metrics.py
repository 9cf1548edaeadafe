"""The metrics of every held-out list."""

from math import log2

import numpy as np
import pytest
import torch

from fansrec.evaluation.protocol import EvaluationLists
from fansrec.training.hybrid.metrics import LISTS_AT_ONCE, metrics_of_mixture, metrics_per_list


def one_list(given: list[int], target: list[int]) -> EvaluationLists:
    return EvaluationLists([np.array(given)], [np.array(target, dtype=np.int32)])


@pytest.mark.parametrize(("target", "figures"), [
    ([1], [1, 1, 1, 1]),
    ([2], [1 / log2(3), 1, 1 / log2(3), 1]),
    ([6], [0, 0, 1 / log2(7), 1]),
    ([11], [0, 0, 0, 0]),
], ids=["first", "second", "sixth", "eleventh"])  # fmt: skip
def test_figures_of_one_target_by_hand(target: list[int], figures: list[float]) -> None:
    falling = -torch.arange(13.0)[None]  # item 0 is that of the input, so that item n is at rank n
    assert metrics_per_list(falling, one_list([0], target))[0] == pytest.approx(figures)


def test_figures_leave_out_items_of_the_input() -> None:
    scores = torch.tensor([[9.0, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1, -2, -3]])
    assert metrics_per_list(scores, one_list([0, 1], [3, 2])).tolist() == [[1.0, 1.0, 1.0, 1.0]]
    assert scores[0, 0] == 9  # the scores are not changed


def test_items_of_the_input_are_left_out_of_a_tiny_catalog() -> None:
    assert metrics_per_list(torch.tensor([[3.0, 2, 1]]), one_list([0, 1], [1])).tolist() == [[0.0, 0.0, 0.0, 0.0]]


def test_no_lists_have_no_figures() -> None:
    assert metrics_per_list(torch.zeros(0, 13), EvaluationLists([], [])).shape == (0, 4)


def test_figures_of_many_lists_are_those_of_each() -> None:
    count = 2 * LISTS_AT_ONCE + 3
    scores = torch.eye(count + 1)[1:]  # item i + 1 is the best one for list i
    targets = [np.array([n + 1 if n % 2 else 0], dtype=np.int32) for n in range(count)]
    figures = metrics_per_list(scores, EvaluationLists([np.array([0])] * count, targets))
    assert figures[:, 0].tolist() == [n % 2 for n in range(count)]


def test_figures_of_a_mixture_are_those_of_the_weighted_sum() -> None:
    parts = {"one": torch.tensor([[0.0, 3, 2, 0]]), "other": torch.tensor([[0.0, 0, 2, 3]])}  # item 3 is the target
    first = [
        metrics_of_mixture(parts, {"one": 1.0, "other": weight}, one_list([0], [3]))[0, 0] for weight in (0, 1.5, 9)
    ]
    assert first == pytest.approx([1 / log2(4), 1 / log2(3), 1])
