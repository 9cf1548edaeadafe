import numpy as np

from fansrec.experiments.speed.agreement import (
    UNKNOWN,
    Agreement,
    Given,
    agreement,
    distinct_by_position,
    until_a_repeat,
)


def given(*items: int, scores: list[float] | None = None) -> Given:
    return Given(np.array(items), None if scores is None else np.array(scores))


def test_answers_are_compared_position_by_position() -> None:
    found = agreement([given(1, 2, 3), given(4)], [given(1, 9, 3), given(4)], one_by_one=False)
    assert found == Agreement(compared=4, same=3) and found.share(found.same) == 3 / 4


def test_another_item_of_the_same_score_is_a_tie() -> None:
    ones, others = [given(1, 2, scores=[0.5, 0.4])], [given(7, 8, scores=[0.500001, 0.41])]
    assert agreement(ones, others, one_by_one=False) == Agreement(compared=2, same=0, tied=1)


def test_nothing_is_compared_after_the_first_difference_of_answers_made_one_by_one() -> None:
    assert agreement([given(1, 2, 3)], [given(1, 9, 3)], one_by_one=True) == Agreement(compared=2, same=1)


def test_lists_that_only_one_system_was_given_do_not_count() -> None:
    assert agreement([given(1)], [given(1), given(2)], one_by_one=False) == Agreement(compared=1, same=1)


def test_positions_without_a_known_item_do_not_count() -> None:
    assert agreement([given(1, UNKNOWN)], [given(1, 5)], one_by_one=False) == Agreement(compared=1, same=1)
    assert Agreement().share(0) is None


def test_a_ranking_gives_each_position_its_best_item_not_taken_before() -> None:
    assert distinct_by_position([[5, 6], [5, 7], [5, 7]]).tolist() == [5, 7, UNKNOWN]


def test_steps_are_comparable_until_an_item_comes_again() -> None:
    assert until_a_repeat([[3], [4], [3], [9]]).tolist() == [3, 4, UNKNOWN, UNKNOWN]
