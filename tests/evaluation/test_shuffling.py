from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fansrec.evaluation.order import order
from fansrec.evaluation.shuffling import shuffled

answers_of = st.lists(st.integers(0, 6), min_size=1, max_size=5, unique=True)
targets_of = st.lists(st.integers(0, 6), min_size=1, max_size=7)


@settings(max_examples=40, deadline=None)
@given(answers_of, targets_of)
def test_it_is_the_mean_over_all_orders_of_the_compared_items(answer: list[int], target: list[int]) -> None:
    cut, beyond = answer[: len(target)], answer[len(target) :]
    orders = np.array([[*mixed, *beyond, -1] for mixed in permutations(cut)], dtype=np.int64)
    targets = [np.array(target, dtype=np.int32)] * len(orders)
    counts = order(orders, targets)
    mean = shuffled(orders[:1], targets[:1])
    assert mean.exact[0] == pytest.approx(counts.exact.mean())
    assert mean.adjacent[0] == pytest.approx(counts.adjacent.mean())


def test_an_empty_answer_and_no_lists_have_nothing_to_shuffle() -> None:
    none = shuffled(np.full((1, 10), -1), [np.array([1, 2], dtype=np.int32)])
    assert (none.exact.tolist(), none.adjacent.tolist()) == ([0.0], [0.0])
    assert shuffled(np.empty((0, 10), dtype=np.int64), []).exact.shape == (0,)
