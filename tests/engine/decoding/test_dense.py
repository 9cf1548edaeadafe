from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fansrec.engine.decoding import dense as decoding
from fansrec.engine.decoding.dense import Answers, Limits, ScoreBlock, best_of, by_position, depth_first

Scores = np.ndarray  # (ranks, B, K, M)
Decode = Callable[[ScoreBlock, int, Limits], Answers]
INF = float("inf")


def block(scores: Scores) -> ScoreBlock:
    tensor = torch.from_numpy(np.asarray(scores, dtype=np.float32))
    return lambda first, last, rank: tensor[rank, :, first:last]


def limits(lists: int, items: int, wanted: list[int] | int, **rules: object) -> Limits:
    blocked = torch.zeros(lists, items, dtype=torch.bool)
    for row, item in rules.pop("blocked", ()):  # type: ignore[attr-defined]
        blocked[row, item] = True
    counts = torch.tensor([wanted] * lists if isinstance(wanted, int) else wanted)
    return Limits(blocked, counts, **rules)  # type: ignore[arg-type]


def one(scores: list[list[float]], wanted: int, **rules: object) -> list[int]:
    """The answer to one list from its (K, M) scores, position by position."""
    made = by_position(block(np.array(scores)[None, None]), 1, limits(1, len(scores[0]), wanted, **rules))
    return made.items[0].tolist()


def test_each_position_takes_its_best_item_not_taken_before() -> None:
    assert one([[3, 2, 1], [3, 2, 1], [1, 2, 3]], 3) == [0, 1, 2]
    assert one([[1, 2, 3], [3, 2, 1], [3, 2, 1]], 3) == [2, 0, 1]


def test_an_item_wanted_by_a_later_position_is_taken_by_the_earlier_one() -> None:
    assert one([[5, 4, 0], [9, 1, 0]], 2) == [0, 1]


def test_blocked_items_are_never_answered() -> None:
    assert one([[3, 2, 1], [3, 2, 1]], 2, blocked=[(0, 0)]) == [1, 2]


def test_where_nothing_is_left_there_is_no_item() -> None:
    made = by_position(block(np.zeros((1, 1, 3, 2)) + [2, 1]), 1, limits(1, 2, 3))
    assert made.items.tolist() == [[0, 1, -1]]
    assert made.scores.tolist() == [[2, 1, -INF]]


def test_a_group_gives_no_more_than_its_share() -> None:
    groups = torch.tensor([0, 0, 0, 1, 1])
    scores = [[5, 4, 3, 2, 1]] * 4
    assert one(scores, 4, groups=groups, max_per_group=1) == [0, 3, -1, -1]
    assert one(scores, 4, groups=groups, max_per_group=2) == [0, 1, 3, 4]


def test_below_the_lowest_score_nothing_is_answered() -> None:
    assert one([[5, 4, 3], [5, 4, 3], [5, 4, 3]], 3, min_score=4.0) == [0, 1, -1]


def test_a_position_that_finds_nothing_good_leaves_a_gap_and_the_next_goes_on() -> None:
    assert one([[5, 0, 0], [5, 1, 0], [0, 0, 6]], 3, min_score=4.0) == [0, -1, 2]


def test_lists_may_want_different_numbers_of_items() -> None:
    made = by_position(block(np.zeros((1, 2, 3, 4)) + [4, 3, 2, 1]), 1, limits(2, 4, [1, 3]))
    assert made.items.tolist() == [[0, -1, -1], [0, 1, 2]]


def test_no_lists_give_no_answers() -> None:
    for decode in (by_position, depth_first):
        assert decode(block(np.zeros((1, 0, 0, 4))), 1, limits(0, 4, [])).items.shape[0] == 0


# Two categories: items 0 and 1, items 2 to 4. Rank 0 is each position's best category.
FIRST = [[9, 8, -INF, -INF, -INF]] * 3
SECOND = [[-INF, -INF, 3, 2, 1]] * 3


@pytest.mark.parametrize("decode", [by_position, depth_first])
def test_an_exhausted_category_falls_to_the_next(decode: Decode) -> None:
    scores = np.array([[FIRST], [SECOND]])
    made = decode(block(scores), 2, limits(1, 5, 3))
    assert made.items.tolist() == [[0, 1, 2]]
    assert made.scores.tolist() == [[9, 8, 3]]


def test_a_category_that_is_blocked_altogether_falls_to_the_next() -> None:
    scores = np.array([[FIRST], [SECOND]])
    made = by_position(block(scores), 2, limits(1, 5, 3, blocked=[(0, 0), (0, 1)]))
    assert made.items.tolist() == [[2, 3, 4]]


def test_further_ranks_are_asked_for_only_where_a_position_waits() -> None:
    asked = []
    scores = block(np.array([[FIRST], [SECOND]]))

    def watched(first: int, last: int, rank: int) -> torch.Tensor:
        asked.append((first, last, rank))
        return scores(first, last, rank)

    by_position(watched, 2, limits(1, 5, 2))
    assert asked == [(0, 2, 0)]
    asked.clear()
    by_position(watched, 2, limits(1, 5, 3))
    assert asked == [(0, 3, 0), (2, 3, 1)]


def test_scores_are_asked_for_in_runs_that_fit_into_memory() -> None:
    asked = []
    scores = block(np.random.default_rng(0).random((1, 2, 5, 4)))

    def watched(first: int, last: int, rank: int) -> torch.Tensor:
        asked.append((first, last))
        return scores(first, last, rank)

    with patch.object(decoding, "SCORES_AT_ONCE", 17):  # two positions of two lists and four items
        by_position(watched, 1, limits(2, 4, 5))
    assert asked == [(0, 2), (2, 4), (4, 5)]


def depth(scores: list[list[float]], wanted: int, **rules: object) -> list[int]:
    made = depth_first(block(np.array(scores)[None, None]), 1, limits(1, len(scores[0]), wanted, **rules))
    return made.items[0].tolist()


def test_depth_first_takes_the_best_of_each_position_then_the_second_best_of_each() -> None:
    # Best: 0, 0, 3. Second best: 1, 2, 4. So 0, then 3 (the 0 of position 2 is a repeat), then 1.
    assert depth([[9, 8, 0, 0, 0], [9, 0, 8, 0, 0], [0, 0, 0, 9, 8]], 3) == [0, 3, 1]


def test_depth_first_differs_from_position_by_position() -> None:
    scores = [[9, 8, 0, 0], [9, 8, 0, 0], [0, 0, 9, 8]]
    assert depth(scores, 3) == [0, 2, 1]
    assert one(scores, 3) == [0, 1, 2]


def test_depth_first_looks_only_at_the_positions_a_list_wants() -> None:
    scores = np.array([[[[9, 8, 0], [0, 0, 9]], [[9, 8, 0], [0, 0, 9]]]])
    assert depth_first(block(scores), 1, limits(2, 3, [1, 2])).items.tolist() == [[0, -1], [0, 2]]


class Case:
    """Random scores, every one different, and random rules."""

    def __init__(self, seed: int, ranks: int, groups: bool) -> None:
        random = np.random.default_rng(seed)
        lists, self.positions, items = random.integers(1, 5), int(random.integers(1, 7)), random.integers(1, 12)
        scores = random.permutation(ranks * lists * self.positions * items).astype(np.float32)
        self.scores = scores.reshape(ranks, lists, self.positions, items)
        if ranks > 1:  # every item has a category, every position its own order of categories
            category = random.integers(ranks, size=items)
            order = random.permuted(np.tile(np.arange(ranks), (lists, self.positions, 1)), axis=-1)
            for rank in range(ranks):
                self.scores[rank][category[None, None] != order[..., rank, None]] = -INF
        wanted = random.integers(1, self.positions + 1, lists)
        self.positions = int(wanted.max())
        self.limits = Limits(
            blocked=torch.from_numpy(random.random((lists, items)) < random.choice([0, 0.3])),
            wanted=torch.from_numpy(wanted),
            groups=torch.from_numpy(random.integers(0, 4, items)) if groups else None,
            max_per_group=int(random.integers(1, 4)) if groups else None,
            min_score=float(random.choice(scores)) if random.random() < 0.3 else None,
        )

    def allowed(self, row: int, taken: list[int], item: int, score: float) -> bool:
        rules = self.limits
        if rules.blocked[row, item] or item in taken or score == -INF:
            return False
        if rules.min_score is not None and score < rules.min_score:
            return False
        if rules.groups is None or rules.max_per_group is None:
            return True
        same = sum(int(rules.groups[other] == rules.groups[item]) for other in taken)
        return same < rules.max_per_group

    def lists(self) -> list[tuple[int, int]]:
        return [(row, int(wanted)) for row, wanted in enumerate(self.limits.wanted)]


def slow_by_position(case: Case) -> list[list[int]]:
    """Rank after rank, position after position: the best item that is allowed."""
    made = []
    for row, wanted in case.lists():
        answer = [-1] * case.positions
        for scores in case.scores[:, row]:
            for position in range(wanted):
                taken = [item for item in answer if item >= 0]
                fit = [i for i, score in enumerate(scores[position]) if case.allowed(row, taken, i, score)]
                if answer[position] < 0 and fit:
                    answer[position] = max(fit, key=lambda i: scores[position][i])
        made.append(answer)
    return made


def slow_depth_first(case: Case) -> list[list[int]]:
    """Rank after rank, depth after depth, position after position: that item of the position, if it is allowed."""
    made = []
    for row, wanted in case.lists():
        answer: list[int] = []
        for scores in case.scores[:, row, :wanted]:
            left = [[i for i in np.argsort(-s) if case.allowed(row, answer, i, s[i])] for s in scores]
            for depth in range(scores.shape[1]):
                for position, items in enumerate(left):
                    if depth < len(items) and len(answer) < wanted:
                        item = int(items[depth])
                        answer += [item] if case.allowed(row, answer, item, scores[position][item]) else []
        made.append(answer + [-1] * (case.positions - len(answer)))
    return made


seeds = st.integers(0, 2**32 - 1)
at_once = st.sampled_from([1, 40, 1 << 24])


@settings(deadline=None, max_examples=80)
@given(seeds, st.integers(1, 3), st.booleans(), at_once)
def test_position_by_position_is_as_a_plain_loop_does_it(seed: int, ranks: int, groups: bool, most: int) -> None:
    case = Case(seed, ranks, groups)
    with patch.object(decoding, "SCORES_AT_ONCE", most):
        made = by_position(block(case.scores), ranks, case.limits)
    assert made.items.tolist() == slow_by_position(case)


@settings(deadline=None, max_examples=80)
@given(seeds, st.integers(1, 3), st.booleans(), at_once)
def test_depth_first_is_as_a_plain_loop_does_it(seed: int, ranks: int, groups: bool, most: int) -> None:
    case = Case(seed, ranks, groups)
    with patch.object(decoding, "SCORES_AT_ONCE", most):
        made = depth_first(block(case.scores), ranks, case.limits)
    assert made.items.tolist() == slow_depth_first(case)


def test_depth_first_with_groups_does_not_depend_on_the_other_lists_of_the_batch() -> None:
    # Group 0 is items 0 to 2, at the top of both positions; item 4 is third at position 1, item 3 fourth at position 0.
    mine = [[9, 8, 7, 6, 0, 0], [9, 8, 0, 0, 7, 6], *[[0] * 6] * 4]
    rules = {"groups": torch.tensor([0, 0, 0, 1, 2, 3]), "max_per_group": 1}
    alone = depth_first(block(np.array([[mine]])), 1, limits(1, 6, 2, **rules))
    batch = depth_first(block(np.array([[mine, mine]])), 1, limits(2, 6, [2, 6], **rules))
    assert batch.items[0, :2].tolist() == alone.items[0].tolist()


def test_depth_first_breaks_ties_alike_whatever_the_other_lists_of_the_batch_want() -> None:
    def answer(widest: int) -> list[int]:
        scores = np.zeros((1, 2, widest, 200)) + np.arange(200) % 3
        return depth_first(block(scores), 1, limits(2, 200, [5, widest])).items[0, :5].tolist()

    assert len({tuple(answer(widest)) for widest in (5, 6, 10, 40)}) == 1


def check_rules(case: Case, made: Answers, ranks: int) -> None:
    """What must hold however the items are chosen; only who leaves an allowed item out may be short of items."""
    for (row, wanted), items, scores in zip(case.lists(), made.items.tolist(), made.scores.tolist(), strict=True):
        given_ = [item for item in items if item >= 0]
        assert all(item == -1 for item in items[wanted:])
        for at, item in enumerate(given_):
            assert case.allowed(row, given_[:at], item, float(case.scores[:, row, :, item].max()))
        for item, score in zip(items, scores, strict=True):
            assert (score == -INF) if item < 0 else (score in case.scores[:, row, :, item])
        if case.limits.min_score is None and len(given_) < wanted:
            assert not any(case.allowed(row, given_, item, 0.0) for item in range(case.scores.shape[-1]))


@settings(deadline=None, max_examples=80)
@given(seeds, st.integers(1, 3), st.booleans(), st.sampled_from([by_position, depth_first]))
def test_an_answer_keeps_the_rules_and_is_as_long_as_they_allow(
    seed: int, ranks: int, groups: bool, decode: Decode
) -> None:
    case = Case(seed, ranks, groups)
    check_rules(case, decode(block(case.scores), ranks, case.limits), ranks)


@settings(deadline=None, max_examples=60)
@given(seeds, st.integers(1, 3), st.booleans(), st.sampled_from([by_position, depth_first]))
def test_a_list_is_answered_alone_as_in_a_batch(seed: int, ranks: int, groups: bool, decode: Decode) -> None:
    case = Case(seed, ranks, groups)
    batch = decode(block(case.scores), ranks, case.limits).items.tolist()
    for row, wanted in case.lists():
        own = Limits(
            case.limits.blocked[row : row + 1],
            case.limits.wanted[row : row + 1],
            case.limits.groups,
            case.limits.max_per_group,
            case.limits.min_score,
        )
        alone = decode(block(case.scores[:, row : row + 1, :wanted]), ranks, own).items[0].tolist()
        assert alone == batch[row][:wanted]


def test_the_rules_of_the_caller_are_not_changed() -> None:
    rules = limits(1, 3, 2)
    by_position(block(np.zeros((1, 1, 2, 3)) + [3, 2, 1]), 1, rules)
    assert not rules.blocked.any()


def best(scores: list[list[float]], wanted: list[int] | int, **rules: object) -> list[list[int]]:
    return best_of(torch.tensor(scores).float(), limits(len(scores), len(scores[0]), wanted, **rules)).items.tolist()


def test_the_best_of_one_score_each_come_best_first() -> None:
    made = best_of(torch.tensor([[1.0, 3, 2], [5, 4, 6]]), limits(2, 3, 2))
    assert made.items.tolist() == [[1, 2], [2, 0]]
    assert made.scores.tolist() == [[3, 2], [6, 5]]


def test_the_best_of_leaves_out_what_is_blocked_and_gives_each_list_as_many_as_it_wants() -> None:
    assert best([[4, 3, 2, 1]] * 2, [3, 1], blocked=[(0, 0), (1, 0), (1, 1)]) == [[1, 2, 3], [2, -1, -1]]


def test_the_best_of_ends_where_nothing_is_left() -> None:
    made = best_of(torch.tensor([[2.0, 1], [2, 1]]), limits(2, 2, 3, blocked=[(1, 0)]))
    assert made.items.tolist() == [[0, 1, -1], [1, -1, -1]]
    assert made.scores.tolist() == [[2, 1, -INF], [1, -INF, -INF]]


def test_no_lists_have_no_best() -> None:
    assert best_of(torch.zeros(0, 4), limits(0, 4, [])).items.shape[0] == 0


def test_the_best_of_stops_at_the_lowest_score() -> None:
    assert best([[5, 4, 3], [3, 5, 3]], 3, min_score=4.0) == [[0, 1, -1], [1, -1, -1]]


def test_the_best_of_each_group_are_no_more_than_its_share() -> None:
    groups = torch.tensor([0, 0, 0, 1, 1])
    assert best([[5, 4, 3, 2, 1]], 4, groups=groups, max_per_group=1) == [[0, 3, -1, -1]]
    assert best([[5, 4, 3, 2, 1]], 4, groups=groups, max_per_group=2) == [[0, 1, 3, 4]]


def test_of_equals_the_first_item_wins_alone_and_in_a_batch() -> None:
    # Many items, so that a partial sort would have its own ideas.
    random = np.random.default_rng(0)
    scores = torch.from_numpy(random.integers(0, 4, (7, 3000)).astype(np.float32))
    together = best_of(scores, limits(7, 3000, [5, 40, 1, 900, 3000, 17, 2])).items
    for row, wanted in enumerate([5, 40, 1, 900, 3000, 17, 2]):
        alone = best_of(scores[row : row + 1], limits(1, 3000, wanted)).items[0].tolist()
        assert alone == (-scores[row]).argsort(stable=True)[:wanted].tolist()
        assert together[row, :wanted].tolist() == alone


@settings(deadline=None, max_examples=100)
@given(seeds, st.booleans(), st.booleans())
def test_the_best_of_one_score_is_position_by_position_with_the_same_score_at_each(
    seed: int, groups: bool, ties: bool
) -> None:
    case = Case(seed, 1, groups)
    scores = torch.from_numpy(case.scores[0, :, 0] // (7 if ties else 1))
    slow = by_position(lambda first, last, rank: scores[:, None].expand(-1, last - first, -1), 1, case.limits)
    made = best_of(scores, case.limits)
    assert made.items.tolist() == slow.items.tolist()
    assert made.scores.tolist() == slow.scores.tolist()


def test_the_best_of_changes_neither_the_scores_nor_the_rules() -> None:
    scores, rules = torch.tensor([[3.0, 2, 1]]), limits(1, 3, 2, blocked=[(0, 0)])
    best_of(scores, rules)
    assert scores.tolist() == [[3, 2, 1]] and rules.blocked.tolist() == [[True, False, False]]
