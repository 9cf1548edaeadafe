import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fansrec.evaluation.variety import coverage, distinct_categories

CATEGORIES = np.array([0, 0, 1, 1, 2])


def test_coverage_is_the_share_of_the_catalogue_that_any_answer_names() -> None:
    assert coverage(np.array([[0, 3], [3, -1]]), 5) == 2 / 5


def test_answers_without_items_cover_nothing() -> None:
    assert coverage(np.full((2, 10), -1), 5) == 0


def test_categories_are_counted_once_an_answer() -> None:
    answers = np.array([[0, 1, 2, 3], [4, 0, 2, -1], [-1, -1, -1, -1]])
    assert distinct_categories(answers, CATEGORIES).tolist() == [2, 3, 0]


@given(st.lists(st.lists(st.integers(-1, 4), min_size=10, max_size=10), min_size=1, max_size=8))
def test_categories_are_those_of_a_plain_count(rows: list[list[int]]) -> None:
    plain = [len({CATEGORIES[item] for item in row if item >= 0}) for row in rows]
    assert distinct_categories(np.array(rows), CATEGORIES).tolist() == plain
