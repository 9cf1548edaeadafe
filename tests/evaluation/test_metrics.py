import math

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fansrec.evaluation.metrics import (
    PAPER,
    STANDARD,
    average_precision,
    counted,
    distinct_lengths,
    hit_ratio,
    hits,
    ideal_lengths,
    ndcg,
    novelty,
    precision,
    recall,
    reciprocal_rank,
    spread,
)

Targets = list[NDArray[np.int32]]


def answers_of(*rows: list[int]) -> NDArray[np.int64]:
    return np.array([row + [-1] * (10 - len(row)) for row in rows], dtype=np.int64)


def targets_of(*rows: list[int]) -> Targets:
    return [np.array(row, dtype=np.int32) for row in rows]


def ndcg_of(answer: list[int], target: list[int], n: int, protocol: str) -> float:
    targets = targets_of(target)
    return float(ndcg(hits(answers_of(answer), targets), n, ideal_lengths(targets, n, protocol))[0])


def ideal(n: int) -> float:
    return sum(1 / math.log2(rank + 1) for rank in range(1, n + 1))


def test_hit_is_an_item_anywhere_in_the_target() -> None:
    found = hits(answers_of([4, 9, 5], [5]), targets_of([5, 4, 5], [4]))
    assert found[:, :3].tolist() == [[True, False, True], [False, False, False]]


def test_answers_and_targets_must_be_equally_many() -> None:
    with pytest.raises(ValueError, match="1 answers and 2 targets"):
        hits(answers_of([1]), targets_of([1], [2]))


def test_filler_is_never_a_hit() -> None:
    assert not hits(answers_of([3]), targets_of([-1, 7])).any()


def test_hr_is_one_with_any_hit_among_the_first_n() -> None:
    found = hits(answers_of([1, 2, 3, 4, 5, 6], [6, 5, 1, 1, 1]), targets_of([6], [6, 5]))
    assert hit_ratio(found, 5).tolist() == [0, 1]
    assert hit_ratio(found, 10).tolist() == [1, 1]


def test_paper_ideal_covers_the_whole_target() -> None:
    answer, target = [1, 90, 2, 91, 92], [6, 5, 4, 3, 2, 1]  # hits at ranks 1 and 3
    assert ndcg_of(answer, target, 5, PAPER) == pytest.approx((1 + 0.5) / ideal(6))
    assert ndcg_of(answer, target, 5, STANDARD) == pytest.approx((1 + 0.5) / ideal(5))


def test_perfect_answer_is_below_one_in_paper_protocol_if_target_is_longer() -> None:
    assert ndcg_of([1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6], 5, STANDARD) == pytest.approx(1)
    assert ndcg_of([1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6], 5, PAPER) == pytest.approx(ideal(5) / ideal(6))


def test_repeats_count_only_in_the_paper_ideal() -> None:
    assert ndcg_of([7, 1, 2, 3, 4], [7, 7, 7, 7, 7], 5, PAPER) == pytest.approx(1 / ideal(5))
    assert ndcg_of([7, 1, 2, 3, 4], [7, 7, 7, 7, 7], 5, STANDARD) == pytest.approx(1)


def test_paper_protocol_excludes_sampledshorter_than_n() -> None:
    targets = targets_of([1] * 4, [1] * 5, [1] * 12)
    assert counted(targets, 5, PAPER).tolist() == [False, True, True]
    assert counted(targets, 10, PAPER).tolist() == [False, False, True]
    assert counted(targets, 10, STANDARD).all()


def test_metrics_without_lists_are_empty() -> None:
    nothing = np.empty((0, 10), dtype=np.int64)
    assert hits(nothing, []).shape == (0, 10)
    assert ndcg(hits(nothing, []), 5, ideal_lengths([], 5, STANDARD)).shape == (0,)


rows = st.lists(st.integers(0, 30), min_size=1, max_size=10, unique=True)
targets = st.lists(st.integers(0, 30), min_size=1, max_size=20)
protocols = st.sampled_from([PAPER, STANDARD])


@given(rows, targets, st.sampled_from([5, 10]), protocols)
def test_ndcg_is_between_zero_and_hr(answer: list[int], target: list[int], n: int, protocol: str) -> None:
    value = ndcg_of(answer, target, n, protocol)
    hit = hit_ratio(hits(answers_of(answer), targets_of(target)), n)[0]
    assert 0 <= value <= hit + 1e-12
    assert (value > 0) == (hit > 0)


@given(targets, st.sampled_from([5, 10]))
def test_distinct_target_items_are_the_standard_ideal(target: list[int], n: int) -> None:
    assert ndcg_of(list(dict.fromkeys(target))[:10], target, n, STANDARD) == pytest.approx(1)


@given(rows, targets, st.randoms())
def test_order_of_the_target_does_not_matter(answer: list[int], target: list[int], random: object) -> None:
    shuffled = list(target)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for protocol in (PAPER, STANDARD):
        assert ndcg_of(answer, shuffled, 10, protocol) == ndcg_of(answer, target, 10, protocol)


@given(rows.filter(lambda row: len(row) > 1), targets)
def test_moving_hits_forward_never_lowers_ndcg(answer: list[int], target: list[int]) -> None:
    best_first = sorted(answer, key=lambda item: item not in target)
    assert ndcg_of(best_first, target, 5, PAPER) >= ndcg_of(answer, target, 5, PAPER) - 1e-12


@pytest.mark.parametrize("n", [1, 5, 10])
def test_standard_metrics_equal_ir_measures(n: int) -> None:
    random = np.random.default_rng(n)
    answers = np.stack([random.permutation(40)[:10] for _ in range(300)])
    sampled = targets_of(*(random.integers(0, 40, random.integers(1, 25)).tolist() for _ in range(300)))
    found = hits(answers, sampled)
    relevant = distinct_lengths(sampled)
    ours = {
        ir_measures.nDCG @ n: ndcg(found, n, ideal_lengths(sampled, n, STANDARD)),
        ir_measures.Success @ n: hit_ratio(found, n),
        ir_measures.R @ n: recall(found, n, relevant),
        ir_measures.P @ n: precision(found, n),
        ir_measures.AP @ n: average_precision(found, n, relevant),
        ir_measures.RR @ n: reciprocal_rank(found, n),
    }
    theirs = independent([*ours], answers, sampled)
    for measure, values in ours.items():
        assert 0 < values.mean() < 1
        np.testing.assert_allclose(values, theirs[str(measure)], atol=1e-6)


@given(rows, targets, st.sampled_from([1, 5, 10]))
def test_more_metrics_are_shares_and_positive_only_with_a_hit(answer: list[int], target: list[int], n: int) -> None:
    found = hits(answers_of(answer), targets_of(target))
    relevant = distinct_lengths(targets_of(target))
    hit = hit_ratio(found, n)[0]
    for values in (recall(found, n, relevant), precision(found, n), average_precision(found, n, relevant)):
        assert 0 <= values[0] <= 1 and (values[0] > 0) == (hit > 0)
    assert (reciprocal_rank(found, n)[0] > 0) == (hit > 0)


def test_positions_without_an_item_lower_precision() -> None:
    assert precision(hits(answers_of([1, 2]), targets_of([1, 2, 3])), 5)[0] == pytest.approx(2 / 5)


def test_novelty_is_the_mean_of_the_bits_of_the_answered_items() -> None:
    shares = np.array([0.5, 0.25, 0.0, 1.0])
    found = novelty(answers_of([0, 1, 3], [3], [2], []), 2, shares)
    assert found.tolist() == [1.5, 0, 2, 0]  # an item of no training list is as novel as the rarest of the others


def test_values_are_spread_over_all_lists() -> None:
    every = spread(np.array([0.5, 1.0]), np.array([False, True, False, True]))
    np.testing.assert_array_equal(every, [np.nan, 0.5, np.nan, 1.0])


def independent(measures: list[object], answers: NDArray[np.int64], sampled: Targets) -> dict[str, list[float]]:
    """Return the same metrics from ir-measures: a list is a query, a target item is relevant, a rank is a score."""
    relevant = [ir_measures.Qrel(f"{q}", f"{i}", 1) for q, target in enumerate(sampled) for i in set(target.tolist())]
    ranked = [
        ir_measures.ScoredDoc(f"{q}", f"{item}", 10.0 - rank)
        for q, row in enumerate(answers.tolist())
        for rank, item in enumerate(row)
    ]
    values: dict[str, list[float]] = {str(measure): [math.nan] * len(sampled) for measure in measures}
    for metric in ir_measures.iter_calc(measures, relevant, ranked):
        values[str(metric.measure)][int(metric.query_id)] = metric.value
    return values
