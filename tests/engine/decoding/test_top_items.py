"""The best items of rows of scores."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.decoding.cases import INF, Case, by_position, limits, seeds
from fansrec.engine.decoding.top_items import select_best, top_items


def best(scores: list[list[float]], count: list[int] | int, **rules: object) -> list[list[int]]:
    return select_best(torch.tensor(scores).float(), limits(len(scores), len(scores[0]), count, **rules)).items.tolist()


def test_best_items_come_first() -> None:
    selected = select_best(torch.tensor([[1.0, 3, 2], [5, 4, 6]]), limits(2, 3, 2))
    assert selected.items.tolist() == [[1, 2], [2, 0]]
    assert selected.scores.tolist() == [[3, 2], [6, 5]]


def test_blocked_items_are_left_out_and_counts_are_respected() -> None:
    assert best([[4, 3, 2, 1]] * 2, [3, 1], blocked=[(0, 0), (1, 0), (1, 1)]) == [[1, 2, 3], [2, -1, -1]]


def test_selection_ends_where_no_item_is_left() -> None:
    selected = select_best(torch.tensor([[2.0, 1], [2, 1]]), limits(2, 2, 3, blocked=[(1, 0)]))
    assert selected.items.tolist() == [[0, 1, -1], [1, -1, -1]]
    assert selected.scores.tolist() == [[2, 1, -INF], [1, -INF, -INF]]


def test_empty_batch_gives_empty_selection() -> None:
    assert select_best(torch.zeros(0, 4), limits(0, 4, [])).items.shape[0] == 0


def test_selection_stops_at_min_score() -> None:
    assert best([[5, 4, 3], [3, 5, 3]], 3, min_score=4.0) == [[0, 1, -1], [1, -1, -1]]


def test_max_per_group_is_respected() -> None:
    groups = torch.tensor([0, 0, 0, 1, 1])
    assert best([[5, 4, 3, 2, 1]], 4, groups=groups, max_per_group=1) == [[0, 3, -1, -1]]
    assert best([[5, 4, 3, 2, 1]], 4, groups=groups, max_per_group=2) == [[0, 1, 3, 4]]


def test_ties_are_ordered_by_item_index_in_every_batch() -> None:
    # Many items, so that a partial sort would order ties differently.
    random = np.random.default_rng(0)
    scores = torch.from_numpy(random.integers(0, 4, (7, 3000)).astype(np.float32))
    together = select_best(scores, limits(7, 3000, [5, 40, 1, 900, 3000, 17, 2])).items
    for row, count in enumerate([5, 40, 1, 900, 3000, 17, 2]):
        alone = select_best(scores[row : row + 1], limits(1, 3000, count)).items[0].tolist()
        assert alone == (-scores[row]).argsort(stable=True)[:count].tolist()
        assert together[row, :count].tolist() == alone


@settings(deadline=None, max_examples=100)
@given(seeds, st.booleans(), st.booleans())
def test_best_items_equal_selection_by_position_with_equal_scores_at_all_positions(
    seed: int, groups: bool, ties: bool
) -> None:
    case = Case(seed, 1, groups)
    scores = torch.from_numpy(case.scores[0, :, 0] // (7 if ties else 1))
    slow = by_position(lambda first, last, rank: scores[:, None].expand(-1, last - first, -1), 1, case.limits)
    selected = select_best(scores, case.limits)
    assert selected.items.tolist() == slow.items.tolist()
    assert selected.scores.tolist() == slow.scores.tolist()


def test_scores_and_limits_are_not_modified() -> None:
    scores, rules = torch.tensor([[3.0, 2, 1]]), limits(1, 3, 2, blocked=[(0, 0)])
    select_best(scores, rules)
    assert scores.tolist() == [[3, 2, 1]] and rules.blocked.tolist() == [[True, False, False]]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=40), st.integers(1, 3), st.integers(1, 6), st.integers(0, 99))
def test_top_items_respect_the_limit_per_group(groups: list[int], most: int, count: int, seed: int) -> None:
    scores = torch.randn(2, len(groups), generator=torch.Generator().manual_seed(seed)).masked_fill_(
        torch.rand(2, len(groups), generator=torch.Generator().manual_seed(seed)) < 0.2, -torch.inf
    )
    best, items = top_items(scores, count, torch.tensor(groups), most)
    for row, got, at in zip(scores, best, items, strict=True):
        right: list[int] = []
        for item in row.argsort(descending=True).tolist():
            before = [groups[other] for other in right].count(groups[item])
            if before < most and len(right) < count and row[item] > -torch.inf:
                right.append(item)
        assert at[got > -torch.inf].tolist() == right
        assert got[got > -torch.inf].tolist() == row[right].tolist()
