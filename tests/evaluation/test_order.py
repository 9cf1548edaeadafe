import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fansrec.evaluation.order import Order, order


def order_of(*pairs: tuple[list[int], list[int]]) -> Order:
    answers = np.array([answer + [-1] * (10 - len(answer)) for answer, _ in pairs], dtype=np.int64)
    return order(answers, [np.array(target, dtype=np.int32) for _, target in pairs])


def test_pairs_of_hits_are_compared_with_the_targets_order() -> None:
    found = order_of(([1, 9, 3, 2], [1, 2, 3, 4]))  # 1-3 and 1-2 are in order, 3-2 is not
    assert (found.pairs.tolist(), found.in_order.tolist()) == ([3], [2])


def test_one_hit_alone_has_no_order() -> None:
    assert order_of(([1, 8, 9], [3, 2, 1])).pairs.tolist() == [0]


def test_a_repeated_item_stands_where_the_target_first_has_it() -> None:
    found = order_of(([1, 2], [2, 1, 2]), ([2, 1], [2, 1, 2]))
    assert found.in_order.tolist() == [0, 1]


def test_an_exact_hit_is_the_same_item_at_the_same_position() -> None:
    found = order_of(([5, 6, 7, 8], [5, 7, 7]), ([1], [2, 1]))
    assert found.exact.tolist() == [2, 0]
    assert found.positions.tolist() == [3, 1]


def test_positions_beyond_an_answer_or_a_target_are_not_compared() -> None:
    assert order_of(([1, 2], list(range(20))), (list(range(10)), [3])).positions.tolist() == [2, 1]


def test_a_step_counts_if_the_target_takes_it_too_wherever() -> None:
    found = order_of(([2, 3, 9, 1, 2], [1, 2, 3, 4, 5]))  # 2-3 and 1-2
    assert (found.steps.tolist(), found.adjacent.tolist()) == ([4], [2])


def test_steps_beyond_the_targets_end_are_not_counted() -> None:
    found = order_of(([7, 8, 1, 2], [1, 2]), ([1], [1, 2]), ([], [1, 2]))
    assert (found.steps.tolist(), found.adjacent.tolist()) == ([1, 0, 0], [0, 0, 0])


def test_no_lists_have_no_pairs() -> None:
    assert order(np.empty((0, 10), dtype=np.int64), []).pairs.shape == (0,)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=10, unique=True))
def test_the_target_itself_is_wholly_in_order_and_its_reverse_wholly_not(target: list[int]) -> None:
    forward, backward = order_of((target, target)), order_of((target[::-1], target))
    assert forward.in_order == forward.pairs == backward.pairs == len(target) * (len(target) - 1) // 2
    assert backward.in_order == 0
    assert forward.exact == len(target)
    assert (forward.adjacent, backward.adjacent) == (len(target) - 1, 0)


def test_a_guessed_order_is_right_in_half_of_the_pairs() -> None:
    random = np.random.default_rng(0)
    targets = [random.integers(0, 12, 12).astype(np.int32) for _ in range(500)]
    answers = np.stack([random.permutation(12)[:10] for _ in targets])
    found = order(answers, targets)
    assert found.in_order.sum() / found.pairs.sum() == pytest.approx(0.5, abs=0.02)
