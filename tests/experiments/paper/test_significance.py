"""The paired test over lists, and means of lists drawn anew."""

import numpy as np
import pytest

from fansrec.experiments.paper.significance import p_values, resampled_means, together


def test_equal_systems_have_p_1():
    assert p_values(np.zeros((1, 50)))[0] == 1


def test_three_lists_all_better_reach_p_a_quarter():
    # Two of the eight ways to set three signs are as far from 0.
    assert p_values(np.ones((1, 3)))[0] == pytest.approx(0.25, abs=0.02)


def test_a_difference_in_most_of_many_lists_is_no_luck():
    differences = np.where(np.arange(200) % 4 == 0, -1.0, 1.0)
    assert p_values(differences[None])[0] < 0.001


def test_the_direction_does_not_change_p():
    differences = np.random.default_rng(1).normal(0.1, 1, 80)
    both = p_values(np.stack([differences, -differences]))
    assert both[0] == both[1]


def test_lists_that_do_not_count_change_nothing_but_the_draw():
    differences = np.random.default_rng(1).normal(0.2, 1, 100)
    padded = np.concatenate([differences, np.zeros(100)])
    assert p_values(padded[None])[0] == pytest.approx(p_values(differences[None])[0], abs=0.02)


def test_metrics_together_weigh_alike_whatever_their_scale():
    metric = np.array([1.0, -1.0, 1.0, 1.0])
    assert together([metric, 100 * metric]) == pytest.approx(2 * metric / 2)
    assert together([metric, np.zeros(4)]) == pytest.approx(metric / 2)
    assert together([np.zeros(4)]) == pytest.approx(np.zeros(4))


def test_resampled_means_leave_out_what_does_not_count():
    values = np.array([[1.0, 1.0, np.nan, np.nan], [0.0, 1.0, 0.0, 1.0]])
    means = resampled_means(values)
    assert means.shape == (1000, 2)
    assert set(np.unique(means[:, 0])) <= {0.0, 1.0}  # 0 where none of the counting lists was drawn
    assert means[:, 1].mean() == pytest.approx(0.5, abs=0.05)
