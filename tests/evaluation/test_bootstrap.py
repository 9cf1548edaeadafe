import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fansrec.evaluation import bootstrap
from fansrec.evaluation.bootstrap import interval


def test_the_interval_is_the_one_statistics_expects_of_a_mean() -> None:
    values = np.random.default_rng(1).normal(3, 2, 400)
    low, high = interval(values) or (0, 0)
    error = 1.96 * values.std() / 20
    assert (low, high) == pytest.approx((values.mean() - error, values.mean() + error), abs=0.02)


def test_the_same_lists_give_the_same_interval() -> None:
    values = np.random.default_rng(2).random(50)
    assert interval(values) == interval(values.copy())


def test_drawing_in_several_handfuls_is_as_good_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).random(70)
    at_once = interval(values)
    monkeypatch.setattr(bootstrap, "DRAWS_AT_ONCE", 7 * 70)  # 1000 is no multiple of 7: the last handful is smaller
    assert interval(values) == at_once


def test_more_lists_make_a_narrower_interval() -> None:
    values = np.random.default_rng(4).random(4000)
    few, many = interval(values[:40]), interval(values)
    assert few is not None and many is not None
    assert many[1] - many[0] < (few[1] - few[0]) / 5


def test_no_lists_have_no_interval() -> None:
    assert interval([]) is None
    assert interval([0.0, 0.0], [0, 0]) is None


def test_a_ratio_of_sums_weighs_each_list_by_what_it_holds() -> None:
    low, high = interval([0, 100] * 200, [1, 100] * 200) or (0, 0)
    assert low < 20_000 / 20_200 < high
    assert low > 0.95  # a mean of the lists' own shares would be near 0.5


def test_drawings_without_any_pair_are_left_out() -> None:
    assert interval([0, 0, 0, 1], [0, 0, 0, 1]) == (1.0, 1.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_an_interval_lies_within_the_values(values: list[float]) -> None:
    low, high = interval(values) or (0, 0)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
