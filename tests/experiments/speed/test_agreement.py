import numpy as np

from fansrec.experiments.speed.authors_steps import distinct_by_position, until_a_repeat
from fansrec.experiments.speed.measuring import UNKNOWN, Answer
from fansrec.experiments.speed.rows import Agreement, agreement


def answer(*items: int, scores: list[float] | None = None) -> Answer:
    return Answer(np.array(items), None if scores is None else np.array(scores))


def test_answers_are_compared_position_by_position() -> None:
    found = agreement([answer(1, 2, 3), answer(4)], [answer(1, 9, 3), answer(4)], autoregressive=False)
    assert found == Agreement(compared=4, same=3) and found.share(found.same) == 3 / 4


def test_other_items_with_the_same_score_are_ties() -> None:
    ones, others = [answer(1, 2, scores=[0.5, 0.4])], [answer(7, 8, scores=[0.500001, 0.41])]
    assert agreement(ones, others, autoregressive=False) == Agreement(compared=2, same=0, tied=1)


def test_autoregressive_answers_are_compared_until_the_first_difference() -> None:
    assert agreement([answer(1, 2, 3)], [answer(1, 9, 3)], autoregressive=True) == Agreement(compared=2, same=1)


def test_only_lists_that_both_systems_answered_count() -> None:
    assert agreement([answer(1)], [answer(1), answer(2)], autoregressive=False) == Agreement(compared=1, same=1)


def test_positions_without_a_known_item_do_not_count() -> None:
    assert agreement([answer(1, UNKNOWN)], [answer(1, 5)], autoregressive=False) == Agreement(compared=1, same=1)
    assert Agreement().share(0) is None


def test_each_position_takes_its_best_free_item() -> None:
    assert distinct_by_position([[5, 6], [5, 7], [5, 7]]).tolist() == [5, 7, UNKNOWN]


def test_steps_are_comparable_until_an_item_is_repeated() -> None:
    assert until_a_repeat([[3], [4], [3], [9]]).tolist() == [3, 4, UNKNOWN, UNKNOWN]
