from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fansrec.evaluation.diversity import coherence, coverage, distinct_categories, popularity

CATEGORIES = np.array([0, 0, 1, 1, 2])


def test_coverage_is_the_share_of_answered_items() -> None:
    assert coverage(np.array([[0, 3], [3, -1]]), 5) == 2 / 5


def test_coverage_of_empty_answers_is_zero() -> None:
    assert coverage(np.full((2, 10), -1), 5) == 0


def test_each_category_counts_once_per_answer() -> None:
    answers = np.array([[0, 1, 2, 3], [4, 0, 2, -1], [-1, -1, -1, -1]])
    assert distinct_categories(answers, CATEGORIES).tolist() == [2, 3, 0]


@given(st.lists(st.lists(st.integers(-1, 4), min_size=10, max_size=10), min_size=1, max_size=8))
def test_distinct_categories_equal_a_plain_count(rows: list[list[int]]) -> None:
    plain = [len({CATEGORIES[item] for item in row if item >= 0}) for row in rows]
    assert distinct_categories(np.array(rows), CATEGORIES).tolist() == plain


def test_popularity_is_the_mean_over_items() -> None:
    shares = np.array([0.5, 0.25, 0.0, 0.1, 1.0])
    found = popularity(np.array([[0, 1, -1], [4, 4, 2], [-1, -1, -1]]), shares)
    assert found[:2] == pytest.approx([0.375, 2 / 3]) and np.isnan(found[2])


@given(st.lists(st.lists(st.integers(-1, 4), min_size=10, max_size=10), min_size=1, max_size=8))
def test_coherence_is_the_share_of_pairs_in_one_category(rows: list[list[int]]) -> None:
    for row, found in zip(rows, coherence(np.array(rows), CATEGORIES), strict=True):
        pairs = list(combinations([CATEGORIES[item] for item in row if item >= 0], 2))
        by_hand = np.mean([left == right for left, right in pairs]) if pairs else np.nan
        assert found == pytest.approx(by_hand, nan_ok=True)
