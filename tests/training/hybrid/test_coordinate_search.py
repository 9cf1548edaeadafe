from typing import Any

import numpy as np
import pytest

from fansrec.training.hybrid.coordinate_search import FEWEST, Figures, Values, coordinate_search

START = {"a": 0, "b": 0}
GRIDS = {"a": (1, 2, 3), "b": (1, 2, 3)}


def flat(figure: float, lists: int = 50) -> Figures:
    return np.full((lists, 2), figure)


def planted(values: Values) -> Figures:
    """No noise; the best is a = 2, b = 3."""
    return flat(1 / (1 + abs(values["a"] - 2) + abs(values["b"] - 3)))


def test_planted_optimum_is_found() -> None:
    result = coordinate_search(START, GRIDS, planted, 1.5)
    assert result.values == {"a": 2, "b": 3}
    np.testing.assert_array_equal(result.figures, flat(1.0))


def test_second_round_finds_gains_that_depend_on_other_changes() -> None:
    def evaluate(values: Values) -> Figures:
        return flat(1.0 + values["b"] + (5.0 if values == {"a": 1, "b": 1} else -0.5 if values["a"] else 0.0))

    assert coordinate_search(START, {"a": (1,), "b": (1,)}, evaluate, 1.5).values == {"a": 1, "b": 1}


def test_start_is_kept_and_evaluated_once_if_nothing_is_better() -> None:
    evaluated: list[Values] = []

    def evaluate(values: Values) -> Figures:
        evaluated.append(dict(values))
        return flat(1.0)

    assert coordinate_search(START, GRIDS, evaluate, 1.5).values == START
    assert evaluated.count(START) == 1 and len(evaluated) == 7  # one round, since it changed nothing


def noisy(gain: float, seed: int) -> Any:
    """Return an evaluation under which every candidate differs from the start by `gain` and noise of size 1."""

    def evaluate(values: Values) -> Figures:
        if values == START:
            return flat(1.0, 400)
        noise = np.random.default_rng([seed, *values.values()]).normal(size=(400, 1))
        return 1.0 + gain + np.tile(noise - noise.mean(), 2)

    return evaluate


def test_gain_within_the_noise_is_not_kept() -> None:
    # The standard error of 400 lists is 1 / 20.
    for seed in range(5):
        assert coordinate_search(START, GRIDS, noisy(0.09, seed), 2.0).values == START


def test_gain_beyond_the_noise_is_kept() -> None:
    for seed in range(5):
        assert coordinate_search(START, {"a": (1,)}, noisy(0.12, seed), 2.0).values == {"a": 1, "b": 0}


def test_gains_are_paired_by_list() -> None:
    # Lists differ a hundred times as much as the change gains, but each of them gains.
    level = np.random.default_rng(0).uniform(1, 100, size=(30, 2))

    def evaluate(values: Values) -> Figures:
        return level + 0.01 * values["a"]

    assert coordinate_search({"a": 0}, {"a": (1,)}, evaluate, 3.0).values == {"a": 1}


def test_no_metric_is_improved_at_the_cost_of_another() -> None:
    def evaluate(values: Values) -> Figures:
        return np.tile([[100.0, 1.0], [100.0 + 20, 1.0 - 0.5]][values["a"]], (10, 1))

    assert coordinate_search({"a": 0}, {"a": (1,)}, evaluate, 1.5).values == {"a": 0}


def test_figures_of_0_are_accepted() -> None:
    result = coordinate_search({"a": 0}, {"a": (1, 2)}, lambda values: flat(0.5 if values["a"] == 2 else 0.0), 1.5)
    assert result.values == {"a": 2}


def test_only_values_with_a_grid_change() -> None:
    result = coordinate_search(START, {"b": GRIDS["b"]}, planted, 1.5)
    assert result.values == {"a": 0, "b": 3}
    assert all(row["a"] == 0 for row in result.tried)
    assert coordinate_search(START, {}, planted, 1.5).values == START


def test_tried_candidates_have_their_gains() -> None:
    result = coordinate_search({"a": 0}, {"a": (1, 2)}, lambda values: flat(1.0 + values["a"] % 2), 1.5)
    # Value 2 is tried against 1, which was kept before it.
    assert result.tried[:3] == [{"a": 0, "gain": 0.0}, {"a": 1, "gain": 1.0}, {"a": 2, "gain": -0.5}]
    assert result.values == {"a": 1}


def test_start_is_not_modified() -> None:
    start = dict(START)
    coordinate_search(start, GRIDS, planted, 1.5)
    assert start == START


@pytest.mark.parametrize("lists", [1, 2, FEWEST - 1])
def test_too_few_lists_decide_nothing(lists: int) -> None:
    result = coordinate_search({"a": 0}, {"a": (1,)}, lambda values: flat(1.0 + values["a"], lists), 1.5)
    assert result.values == {"a": 0}
    assert result.tried[1] == {"a": 1, "gain": 1.0}  # it is tried and reported anyway
    np.testing.assert_array_equal(result.figures, flat(1.0, lists))


def test_just_enough_lists_decide() -> None:
    assert coordinate_search({"a": 0}, {"a": (1,)}, lambda values: flat(1.0 + values["a"], FEWEST), 1.5).values == {
        "a": 1
    }
