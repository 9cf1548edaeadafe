import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fansrec.evaluation import bootstrap
from fansrec.evaluation.bootstrap import interval, mean_intervals


def test_interval_matches_the_normal_approximation() -> None:
    values = np.random.default_rng(1).normal(3, 2, 400)
    low, high = interval(values) or (0, 0)
    error = 1.96 * values.std() / 20
    assert (low, high) == pytest.approx((values.mean() - error, values.mean() + error), abs=0.02)


def test_interval_is_deterministic() -> None:
    values = np.random.default_rng(2).random(50)
    assert interval(values) == interval(values.copy())


def test_interval_does_not_depend_on_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).random(70)
    at_once = interval(values)
    monkeypatch.setattr(bootstrap, "DRAWS_AT_ONCE", 7 * 70)  # 1000 is not a multiple of 7: the last batch is smaller
    assert interval(values) == at_once


def test_more_lists_give_a_narrower_interval() -> None:
    values = np.random.default_rng(4).random(4000)
    few, many = interval(values[:40]), interval(values)
    assert few is not None and many is not None
    assert many[1] - many[0] < (few[1] - few[0]) / 5


def test_no_interval_without_lists() -> None:
    assert interval([]) is None
    assert interval([0.0, 0.0], [0, 0]) is None


def test_ratio_of_sums_weights_lists_by_their_denominator() -> None:
    low, high = interval([0, 100] * 200, [1, 100] * 200) or (0, 0)
    assert low < 20_000 / 20_200 < high
    assert low > 0.95  # a mean of the lists' own shares would be near 0.5


def test_resamples_without_weight_are_left_out() -> None:
    assert interval([0, 0, 0, 1], [0, 0, 0, 1]) == (1.0, 1.0)


def test_intervals_of_several_metrics_are_those_of_each() -> None:
    values = np.random.default_rng(5).random((3, 60))
    assert mean_intervals([*values]) == [pytest.approx(interval(one)) for one in values]
    assert mean_intervals([[], []]) == [None, None]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_interval_is_within_the_values(values: list[float]) -> None:
    low, high = interval(values) or (0, 0)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
