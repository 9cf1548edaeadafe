"""The paired permutation test, and bootstrap means over lists."""

import numpy as np
import pytest

from fansrec.evaluation.significance import combine_metrics, paired_p_values, resampled_means


def test_p_value_of_equal_systems_is_1():
    assert paired_p_values(np.zeros((1, 50)))[0] == 1


def test_p_value_of_three_positive_differences_is_a_quarter():
    # Two of the eight combinations of three signs are as far from 0.
    assert paired_p_values(np.ones((1, 3)))[0] == pytest.approx(0.25, abs=0.02)


def test_consistent_difference_over_many_lists_is_significant():
    differences = np.where(np.arange(200) % 4 == 0, -1.0, 1.0)
    assert paired_p_values(differences[None])[0] < 0.001


def test_p_value_does_not_depend_on_the_sign():
    differences = np.random.default_rng(1).normal(0.1, 1, 80)
    both = paired_p_values(np.stack([differences, -differences]))
    assert both[0] == both[1]


def test_lists_with_difference_zero_do_not_change_the_p_value():
    differences = np.random.default_rng(1).normal(0.2, 1, 100)
    padded = np.concatenate([differences, np.zeros(100)])
    assert paired_p_values(padded[None])[0] == pytest.approx(paired_p_values(differences[None])[0], abs=0.02)


def test_combined_metrics_have_equal_weight_at_any_scale():
    metric = np.array([1.0, -1.0, 1.0, 1.0])
    assert combine_metrics([metric, 100 * metric]) == pytest.approx(2 * metric / 2)
    assert combine_metrics([metric, np.zeros(4)]) == pytest.approx(metric / 2)
    assert combine_metrics([np.zeros(4)]) == pytest.approx(np.zeros(4))


def test_resampled_means_ignore_nan():
    values = np.array([[1.0, 1.0, np.nan, np.nan], [0.0, 1.0, 0.0, 1.0]])
    means = resampled_means(values)
    assert means.shape == (1000, 2)
    assert set(np.unique(means[:, 0])) <= {0.0, 1.0}  # 0 if no list that counts was drawn
    assert means[:, 1].mean() == pytest.approx(0.5, abs=0.05)
