from typing import Any

import numpy as np
import pytest

from fansrec.training.hybrid.coordinate_search import FEWEST, Figures, Values, climb

START = {"a": 0, "b": 0}
GRIDS = {"a": (1, 2, 3), "b": (1, 2, 3)}


def flat(figure: float, lists: int = 50) -> Figures:
    return np.full((lists, 2), figure)


def planted(values: Values) -> Figures:
    """No noise; the best is a = 2, b = 3."""
    return flat(1 / (1 + abs(values["a"] - 2) + abs(values["b"] - 3)))


def test_a_planted_optimum_is_found() -> None:
    climbed = climb(START, GRIDS, planted, 1.5)
    assert climbed.values == {"a": 2, "b": 3}
    np.testing.assert_array_equal(climbed.figures, flat(1.0))


def test_a_second_round_finds_what_becomes_better_only_after_another_change() -> None:
    def judge(values: Values) -> Figures:
        return flat(1.0 + values["b"] + (5.0 if values == {"a": 1, "b": 1} else -0.5 if values["a"] else 0.0))

    assert climb(START, {"a": (1,), "b": (1,)}, judge, 1.5).values == {"a": 1, "b": 1}


def test_where_nothing_is_better_the_start_is_kept_and_tried_but_once() -> None:
    asked: list[Values] = []

    def judge(values: Values) -> Figures:
        asked.append(dict(values))
        return flat(1.0)

    assert climb(START, GRIDS, judge, 1.5).values == START
    assert asked.count(START) == 1 and len(asked) == 7  # one round, since it changed nothing


def noisy(gain: float, seed: int) -> Any:
    """Every candidate's figures differ from the start's by noise of size 1 around `gain`."""

    def judge(values: Values) -> Figures:
        if values == START:
            return flat(1.0, 400)
        lot = np.random.default_rng([seed, *values.values()]).normal(size=(400, 1))
        return 1.0 + gain + np.tile(lot - lot.mean(), 2)

    return judge


def test_a_gain_within_the_noise_is_not_believed() -> None:
    # The standard error of 400 lists is 1 / 20.
    for seed in range(5):
        assert climb(START, GRIDS, noisy(0.09, seed), 2.0).values == START


def test_a_gain_beyond_the_noise_is() -> None:
    for seed in range(5):
        assert climb(START, {"a": (1,)}, noisy(0.12, seed), 2.0).values == {"a": 1, "b": 0}


def test_lists_are_compared_with_themselves() -> None:
    # Lists differ a hundred times as much as the change is worth, but each of them gains.
    level = np.random.default_rng(0).uniform(1, 100, size=(30, 2))

    def judge(values: Values) -> Figures:
        return level + 0.01 * values["a"]

    assert climb({"a": 0}, {"a": (1,)}, judge, 3.0).values == {"a": 1}


def test_no_figure_is_bought_with_a_larger_share_of_another() -> None:
    def judge(values: Values) -> Figures:
        return np.tile([[100.0, 1.0], [100.0 + 20, 1.0 - 0.5]][values["a"]], (10, 1))

    assert climb({"a": 0}, {"a": (1,)}, judge, 1.5).values == {"a": 0}


def test_figures_that_are_all_0_are_no_trouble() -> None:
    climbed = climb({"a": 0}, {"a": (1, 2)}, lambda values: flat(0.5 if values["a"] == 2 else 0.0), 1.5)
    assert climbed.values == {"a": 2}


def test_only_what_has_a_grid_is_changed() -> None:
    climbed = climb(START, {"b": GRIDS["b"]}, planted, 1.5)
    assert climbed.values == {"a": 0, "b": 3}
    assert all(row["a"] == 0 for row in climbed.tried)
    assert climb(START, {}, planted, 1.5).values == START


def test_all_that_was_tried_is_told_with_what_it_gained() -> None:
    climbed = climb({"a": 0}, {"a": (1, 2)}, lambda values: flat(1.0 + values["a"] % 2), 1.5)
    # Value 2 is tried against 1, which was kept before it.
    assert climbed.tried[:3] == [{"a": 0, "gain": 0.0}, {"a": 1, "gain": 1.0}, {"a": 2, "gain": -0.5}]
    assert climbed.values == {"a": 1}


def test_the_start_is_left_as_it_was() -> None:
    start = dict(START)
    climb(start, GRIDS, planted, 1.5)
    assert start == START


@pytest.mark.parametrize("lists", [1, 2, FEWEST - 1])
def test_from_too_few_lists_nothing_is_told_however_much_they_gain(lists: int) -> None:
    climbed = climb({"a": 0}, {"a": (1,)}, lambda values: flat(1.0 + values["a"], lists), 1.5)
    assert climbed.values == {"a": 0}
    assert climbed.tried[1] == {"a": 1, "gain": 1.0}  # it is tried and told all the same
    np.testing.assert_array_equal(climbed.figures, flat(1.0, lists))


def test_from_just_enough_lists_it_is() -> None:
    assert climb({"a": 0}, {"a": (1,)}, lambda values: flat(1.0 + values["a"], FEWEST), 1.5).values == {"a": 1}
