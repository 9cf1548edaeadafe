"""Paired differences, and the order of several systems."""

import numpy as np
import pytest

from fansrec.evaluation.paired import paired_difference, paired_differences, rank, verdict
from fansrec.evaluation.significance import Floats

LISTS = 400
base = np.random.default_rng(0).random(LISTS)
noise = np.random.default_rng(1).normal(0, 0.01, LISTS)
noise -= noise.mean()


def test_interval_is_that_of_the_differences() -> None:
    found = paired_difference(base + 0.005 + noise, base)
    error = 1.96 * noise.std() / np.sqrt(LISTS)
    assert found.mean == pytest.approx(0.005)
    assert (found.low, found.high) == pytest.approx((found.mean - error, found.mean + error), abs=2e-4)
    assert found.significant and found.lists == LISTS


def test_reversed_difference_has_the_other_sign() -> None:
    there, back = paired_difference(base + noise, base), paired_difference(base, base + noise)
    assert (back.mean, back.low, back.high) == pytest.approx((-there.mean, -there.high, -there.low))


def test_equal_systems_do_not_differ_significantly() -> None:
    found = paired_difference(base, base.copy())
    assert (found.mean, found.low, found.high) == (0, 0, 0) and not found.significant


def test_lists_that_count_for_one_system_only_are_left_out() -> None:
    left, right = base.copy(), base - 1
    left[:100], right[100:150] = np.nan, np.nan
    found = paired_difference(left, right)
    assert (found.lists, found.mean) == (LISTS - 150, pytest.approx(1))


def test_no_common_lists_give_no_difference() -> None:
    found = paired_difference(np.full(LISTS, np.nan), base)
    assert np.isnan(found.mean) and not found.significant
    assert found.to_json() == {
        "difference": None,
        "interval": None,
        "percent": None,
        "percent_interval": None,
        "lists": 0,
    }


def test_percent_is_of_the_second_system() -> None:
    found = paired_difference(1.1 * base, base)
    assert [found.percent, found.percent_low, found.percent_high] == pytest.approx([10, 10, 10])


def test_all_pairs_have_the_same_resamples() -> None:
    several = paired_differences(np.stack([base, base]), np.stack([base + noise, base + noise]))
    assert several[0] == several[1] == paired_difference(base, base + noise)


def systems() -> dict[str, Floats]:
    return {"poor": base - 0.1, "cheap": base + noise, "best": base + 0.0002}


def test_systems_are_ranked_by_their_means() -> None:
    found = rank(systems())
    assert found.order == ["best", "cheap", "poor"]
    assert list(found.behind) == ["cheap", "poor"]
    assert found.behind["poor"].mean == pytest.approx(0.1002)
    assert found.as_good == ["best", "cheap"]


def test_cheapest_system_that_is_not_significantly_worse() -> None:
    assert rank(systems()).cheapest({"poor": 1, "cheap": 2, "best": 3}) == "cheap"
    assert rank(systems()).cheapest({"poor": 1, "cheap": 3, "best": 3}) == "best"


def test_system_without_lists_is_last() -> None:
    found = rank({"none": np.full(LISTS, np.nan), **systems()})
    assert found.order[-1] == "none"


def test_verdict_says_plainly_whether_the_difference_is_significant() -> None:
    poor, cheap, best = systems().items()
    assert verdict(rank(dict([best])), "HR@5") == "there is nothing to compare best with"
    assert verdict(rank(dict([poor, best])), "HR@5") == "best is significantly better than the other one in HR@5"
    assert "significantly better than each of the 2 others" in verdict(rank(systems() | {"cheap": base - 1}), "HR@5")
    assert "no difference to the others is significant" in verdict(rank(dict([cheap, best])), "HR@5")
    found = verdict(rank(systems()), "HR@5", {"poor": "P", "cheap": "C", "best": "B"})
    assert found == "B has the highest HR@5, but is not significantly better than C"


def test_nothing_is_said_without_lists() -> None:
    found = rank({"a": np.empty(0), "b": np.empty(0)})
    assert found.order == ["a", "b"] and found.behind["b"].lists == 0
    assert verdict(found, "HR@10") == "no list counts for HR@10"
