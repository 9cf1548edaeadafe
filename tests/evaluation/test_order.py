from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fansrec.evaluation.order import OrderCounts, count_order, count_shuffled


def order_of(*pairs: tuple[list[int], list[int]]) -> OrderCounts:
    answers = np.array([answer + [-1] * (10 - len(answer)) for answer, _ in pairs], dtype=np.int64)
    return count_order(answers, [np.array(target, dtype=np.int32) for _, target in pairs])


def test_pairs_of_hits_are_compared_with_the_target() -> None:
    found = order_of(([1, 9, 3, 2], [1, 2, 3, 4]))  # 1-3 and 1-2 are in order, 3-2 is not
    assert (found.pairs.tolist(), found.in_order.tolist()) == ([3], [2])


def test_single_hit_has_no_pairs() -> None:
    assert order_of(([1, 8, 9], [3, 2, 1])).pairs.tolist() == [0]


def test_repeated_item_counts_at_its_first_position() -> None:
    found = order_of(([1, 2], [2, 1, 2]), ([2, 1], [2, 1, 2]))
    assert found.in_order.tolist() == [0, 1]


def test_exact_hit_is_the_same_item_at_the_same_position() -> None:
    found = order_of(([5, 6, 7, 8], [5, 7, 7]), ([1], [2, 1]))
    assert found.exact.tolist() == [2, 0]
    assert found.positions.tolist() == [3, 1]


def test_positions_beyond_an_answer_or_a_target_are_not_compared() -> None:
    assert order_of(([1, 2], list(range(20))), (list(range(10)), [3])).positions.tolist() == [2, 1]


def test_step_counts_if_it_occurs_anywhere_in_the_target() -> None:
    found = order_of(([2, 3, 9, 1, 2], [1, 2, 3, 4, 5]))  # 2-3 and 1-2
    assert (found.steps.tolist(), found.adjacent.tolist()) == ([4], [2])


def test_steps_beyond_the_targets_end_are_not_counted() -> None:
    found = order_of(([7, 8, 1, 2], [1, 2]), ([1], [1, 2]), ([], [1, 2]))
    assert (found.steps.tolist(), found.adjacent.tolist()) == ([1, 0, 0], [0, 0, 0])


def test_no_pairs_without_lists() -> None:
    assert count_order(np.empty((0, 10), dtype=np.int64), []).pairs.shape == (0,)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=10, unique=True))
def test_target_is_in_order_and_its_reverse_is_not(target: list[int]) -> None:
    forward, backward = order_of((target, target)), order_of((target[::-1], target))
    assert forward.in_order == forward.pairs == backward.pairs == len(target) * (len(target) - 1) // 2
    assert backward.in_order == 0
    assert forward.exact == len(target)
    assert (forward.adjacent, backward.adjacent) == (len(target) - 1, 0)


def test_random_order_has_half_of_the_pairs_in_order() -> None:
    random = np.random.default_rng(0)
    targets = [random.integers(0, 12, 12).astype(np.int32) for _ in range(500)]
    answers = np.stack([random.permutation(12)[:10] for _ in targets])
    found = count_order(answers, targets)
    assert found.in_order.sum() / found.pairs.sum() == pytest.approx(0.5, abs=0.02)


short_answers = st.lists(st.integers(0, 6), min_size=1, max_size=5, unique=True)
short_targets = st.lists(st.integers(0, 6), min_size=1, max_size=7)


@settings(max_examples=40, deadline=None)
@given(short_answers, short_targets)
def test_shuffled_counts_are_the_mean_over_all_orders(answer: list[int], target: list[int]) -> None:
    cut, beyond = answer[: len(target)], answer[len(target) :]
    orders = np.array([[*mixed, *beyond, -1] for mixed in permutations(cut)], dtype=np.int64)
    targets = [np.array(target, dtype=np.int32)] * len(orders)
    counts = count_order(orders, targets)
    mean = count_shuffled(orders[:1], targets[:1])
    assert mean.exact[0] == pytest.approx(counts.exact.mean())
    assert mean.adjacent[0] == pytest.approx(counts.adjacent.mean())


def test_shuffled_counts_of_empty_answers_are_zero() -> None:
    none = count_shuffled(np.full((1, 10), -1), [np.array([1, 2], dtype=np.int32)])
    assert (none.exact.tolist(), none.adjacent.tolist()) == ([0.0], [0.0])
    assert count_shuffled(np.empty((0, 10), dtype=np.int64), []).exact.shape == (0,)
