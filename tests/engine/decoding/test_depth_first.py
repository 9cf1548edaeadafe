"""Depth-first selection."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.decoding.cases import Case, block, by_position, limits, seeds, slow_depth_first
from fansrec.engine.decoding.masked_selection import select_depth_first


def depth(scores: list[list[float]], count: int, **rules: object) -> list[int]:
    selected = select_depth_first(block(np.array(scores)[None, None]), 1, limits(1, len(scores[0]), count, **rules))
    return selected.items[0].tolist()


def test_second_best_items_follow_the_best_of_each_position() -> None:
    # Best: 0, 0, 3. Second best: 1, 2, 4. So 0, then 3 (the 0 of position 2 is a repeat), then 1.
    assert depth([[9, 8, 0, 0, 0], [9, 0, 8, 0, 0], [0, 0, 0, 9, 8]], 3) == [0, 3, 1]


def test_depth_first_differs_from_selection_by_position() -> None:
    scores = [[9, 8, 0, 0], [9, 8, 0, 0], [0, 0, 9, 8]]
    assert depth(scores, 3) == [0, 2, 1]
    assert by_position(block(np.array([[scores]])), 1, limits(1, 4, 3)).items.tolist() == [[0, 1, 2]]


def test_only_requested_positions_are_used() -> None:
    scores = np.array([[[[9, 8, 0], [0, 0, 9]], [[9, 8, 0], [0, 0, 9]]]])
    assert select_depth_first(block(scores), 1, limits(2, 3, [1, 2])).items.tolist() == [[0, -1], [0, 2]]


@settings(deadline=None, max_examples=80)
@given(seeds, st.integers(1, 3), st.booleans())
def test_selection_equals_a_plain_loop(seed: int, ranks: int, groups: bool) -> None:
    case = Case(seed, ranks, groups)
    assert select_depth_first(block(case.scores), ranks, case.limits).items.tolist() == slow_depth_first(case)


def test_groups_do_not_depend_on_the_batch() -> None:
    # Group 0 is items 0 to 2, at the top of both positions; item 4 is third at position 1, item 3 fourth at position 0.
    mine = [[9, 8, 7, 6, 0, 0], [9, 8, 0, 0, 7, 6], *[[0] * 6] * 4]
    rules = {"groups": torch.tensor([0, 0, 0, 1, 2, 3]), "max_per_group": 1}
    alone = select_depth_first(block(np.array([[mine]])), 1, limits(1, 6, 2, **rules))
    batch = select_depth_first(block(np.array([[mine, mine]])), 1, limits(2, 6, [2, 6], **rules))
    assert batch.items[0, :2].tolist() == alone.items[0].tolist()


def test_ties_do_not_depend_on_the_batch() -> None:
    def answer(widest: int) -> list[int]:
        scores = np.zeros((1, 2, widest, 200)) + np.arange(200) % 3
        return select_depth_first(block(scores), 1, limits(2, 200, [5, widest])).items[0, :5].tolist()

    assert len({tuple(answer(widest)) for widest in (5, 6, 10, 40)}) == 1
