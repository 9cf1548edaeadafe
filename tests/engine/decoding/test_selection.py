"""Position-by-position selection, and what holds for every way of selecting."""

from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.decoding.cases import (
    INF,
    Case,
    Decode,
    block,
    by_position,
    limits,
    seeds,
    slow_by_position,
)
from fansrec.engine.decoding import selection
from fansrec.engine.decoding.limits import Limits, Selection
from fansrec.engine.decoding.masked_selection import select_depth_first


def one(scores: list[list[float]], count: int, **rules: object) -> list[int]:
    """Return the selection for one list from its scores (K, M)."""
    selected = by_position(block(np.array(scores)[None, None]), 1, limits(1, len(scores[0]), count, **rules))
    return selected.items[0].tolist()


def test_each_position_takes_its_best_item_not_taken_before() -> None:
    assert one([[3, 2, 1], [3, 2, 1], [1, 2, 3]], 3) == [0, 1, 2]
    assert one([[1, 2, 3], [3, 2, 1], [3, 2, 1]], 3) == [2, 0, 1]


def test_earlier_position_takes_a_contested_item() -> None:
    assert one([[5, 4, 0], [9, 1, 0]], 2) == [0, 1]


def test_blocked_items_are_never_selected() -> None:
    assert one([[3, 2, 1], [3, 2, 1]], 2, blocked=[(0, 0)]) == [1, 2]


def test_positions_without_candidates_stay_empty() -> None:
    selected = by_position(block(np.zeros((1, 1, 3, 2)) + [2, 1]), 1, limits(1, 2, 3))
    assert selected.items.tolist() == [[0, 1, -1]]
    assert selected.scores.tolist() == [[2, 1, -INF]]


def test_max_per_group_is_respected() -> None:
    groups = torch.tensor([0, 0, 0, 1, 1])
    scores = [[5, 4, 3, 2, 1]] * 4
    assert one(scores, 4, groups=groups, max_per_group=1) == [0, 3, -1, -1]
    assert one(scores, 4, groups=groups, max_per_group=2) == [0, 1, 3, 4]


def test_items_below_min_score_are_not_selected() -> None:
    assert one([[5, 4, 3], [5, 4, 3], [5, 4, 3]], 3, min_score=4.0) == [0, 1, -1]


def test_position_without_acceptable_item_leaves_a_gap() -> None:
    assert one([[5, 0, 0], [5, 1, 0], [0, 0, 6]], 3, min_score=4.0) == [0, -1, 2]


def test_lists_may_request_different_counts() -> None:
    selected = by_position(block(np.zeros((1, 2, 3, 4)) + [4, 3, 2, 1]), 1, limits(2, 4, [1, 3]))
    assert selected.items.tolist() == [[0, -1, -1], [0, 1, 2]]


def test_empty_batch_gives_empty_selection() -> None:
    for decode in (by_position, select_depth_first):
        assert decode(block(np.zeros((1, 0, 0, 4))), 1, limits(0, 4, [])).items.shape[0] == 0


# Two categories: items 0 and 1, items 2 to 4. Rank 0 is each position's best category.
FIRST = [[9, 8, -INF, -INF, -INF]] * 3
SECOND = [[-INF, -INF, 3, 2, 1]] * 3


@pytest.mark.parametrize("decode", [by_position, select_depth_first])
def test_exhausted_category_is_followed_by_the_next(decode: Decode) -> None:
    scores = np.array([[FIRST], [SECOND]])
    selected = decode(block(scores), 2, limits(1, 5, 3))
    assert selected.items.tolist() == [[0, 1, 2]]
    assert selected.scores.tolist() == [[9, 8, 3]]


def test_fully_blocked_category_is_followed_by_the_next() -> None:
    scores = np.array([[FIRST], [SECOND]])
    selected = by_position(block(scores), 2, limits(1, 5, 3, blocked=[(0, 0), (0, 1)]))
    assert selected.items.tolist() == [[2, 3, 4]]


def test_further_ranks_are_scored_only_for_waiting_positions() -> None:
    scored = []
    scores = block(np.array([[FIRST], [SECOND]]))

    def recorded(first: int, last: int, rank: int) -> torch.Tensor:
        scored.append((first, last, rank))
        return scores(first, last, rank)

    by_position(recorded, 2, limits(1, 5, 2))
    assert scored == [(0, 2, 0)]
    scored.clear()
    by_position(recorded, 2, limits(1, 5, 3))
    assert scored == [(0, 3, 0), (2, 3, 1)]


def test_positions_are_scored_in_runs_that_fit_into_memory() -> None:
    scored = []
    scores = block(np.random.default_rng(0).random((1, 2, 5, 4)))

    def recorded(first: int, last: int, rank: int) -> torch.Tensor:
        scored.append((first, last))
        return scores(first, last, rank)

    with patch.object(selection, "SCORES_AT_ONCE", 17):  # two positions of two lists and four items
        by_position(recorded, 1, limits(2, 4, 5))
    assert scored == [(0, 2), (2, 4), (4, 5)]


@settings(deadline=None, max_examples=80)
@given(seeds, st.integers(1, 3), st.booleans(), st.sampled_from([1, 40, 1 << 24]))
def test_selection_equals_a_plain_loop(seed: int, ranks: int, groups: bool, most: int) -> None:
    case = Case(seed, ranks, groups)
    with patch.object(selection, "SCORES_AT_ONCE", most):
        selected = by_position(block(case.scores), ranks, case.limits)
    assert selected.items.tolist() == slow_by_position(case)


def check_rules(case: Case, selected: Selection, ranks: int) -> None:
    """Check what must hold for every selection; it may only be short if no allowed item is left."""
    for (row, count), items, scores in zip(
        case.lists(), selected.items.tolist(), selected.scores.tolist(), strict=True
    ):
        items_given = [item for item in items if item >= 0]
        assert all(item == -1 for item in items[count:])
        for at, item in enumerate(items_given):
            assert case.allowed(row, items_given[:at], item, float(case.scores[:, row, :, item].max()))
        for item, score in zip(items, scores, strict=True):
            assert (score == -INF) if item < 0 else (score in case.scores[:, row, :, item])
        if case.limits.min_score is None and len(items_given) < count:
            assert not any(case.allowed(row, items_given, item, 0.0) for item in range(case.scores.shape[-1]))


@settings(deadline=None, max_examples=80)
@given(seeds, st.integers(1, 3), st.booleans(), st.sampled_from([by_position, select_depth_first]))
def test_selection_respects_the_rules_and_is_as_long_as_they_allow(
    seed: int, ranks: int, groups: bool, decode: Decode
) -> None:
    case = Case(seed, ranks, groups)
    check_rules(case, decode(block(case.scores), ranks, case.limits), ranks)


@settings(deadline=None, max_examples=60)
@given(seeds, st.integers(1, 3), st.booleans(), st.sampled_from([by_position, select_depth_first]))
def test_selection_does_not_depend_on_the_batch(seed: int, ranks: int, groups: bool, decode: Decode) -> None:
    case = Case(seed, ranks, groups)
    batch = decode(block(case.scores), ranks, case.limits).items.tolist()
    for row, count in case.lists():
        own = Limits(
            case.limits.blocked[row : row + 1],
            case.limits.counts[row : row + 1],
            case.limits.groups,
            case.limits.max_per_group,
            case.limits.min_score,
        )
        alone = decode(block(case.scores[:, row : row + 1, :count]), ranks, own).items[0].tolist()
        assert alone == batch[row][:count]


def test_limits_are_not_modified() -> None:
    rules = limits(1, 3, 2)
    by_position(block(np.zeros((1, 1, 2, 3)) + [3, 2, 1]), 1, rules)
    assert not rules.blocked.any()


def test_ranks_end_when_a_list_has_all_it_could_get() -> None:
    scored = []
    scores = block(np.array([[FIRST], [SECOND], [SECOND]]))

    def recorded(first: int, last: int, rank: int) -> torch.Tensor:
        scored.append(rank)
        return scores(first, last, rank)

    groups = torch.tensor([0, 0, 1, 1, 1])
    selected = by_position(recorded, 3, limits(1, 5, 3, groups=groups, max_per_group=1))
    assert selected.items.tolist() == [[0, 2, -1]] and scored == [0, 1]
    scored.clear()
    by_position(recorded, 3, limits(1, 5, 3, blocked=[(0, 1), (0, 3), (0, 4)]))
    assert scored == [0, 1]
