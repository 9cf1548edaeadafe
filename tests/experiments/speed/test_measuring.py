"""Measurements with a clock that advances only when a system is called."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fansrec.experiments.speed.measuring import Answer, Arm, in_calls, measure
from fansrec.experiments.speed.rows import Row, rows_of
from fansrec.experiments.speed.workloads import Question

QUESTIONS = [Question(np.arange(5), 3 + number % 2) for number in range(40)]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[str] = []

    def __call__(self) -> float:
        return self.now

    def arm(self, kind: str, took: float | Sequence[float], model: str = "fans", **more: Any) -> Arm:
        """Return a system whose calls take `took` seconds, or these numbers of seconds in turn."""
        lasts = iter(took) if isinstance(took, Sequence) else None

        def answer(inputs: Any, counts: Sequence[int]) -> list[int]:
            self.now += took if lasts is None else next(lasts)  # type: ignore[operator]
            self.calls.append(kind)
            return list(counts)

        names = {"variant": "paper", "categories": 10, "backend": "torch", "device": "cpu"} | more
        return Arm(
            arm=kind, model=model, answer=answer, to_answers=lambda ks: [Answer(np.arange(k)) for k in ks], **names
        )


def measured(clock: Clock, arms: list[Arm], seconds: float, repeats: int = 5, batch: int = 1) -> list[Row]:
    calls = in_calls(QUESTIONS, batch)
    measure(arms, calls, seconds, repeats, clock=clock)
    return rows_of(arms, calls, 100)


def test_slow_systems_answer_fewer_of_the_same_lists() -> None:
    clock = Clock()
    rows = measured(clock, [clock.arm(str(took), took) for took in (8.0, 2.0, 0.1)], seconds=240)
    lists = [row["lists"] for row in rows]
    assert lists[0] < lists[1] < lists[2] == 40


def test_remaining_time_goes_to_the_systems_with_the_fewest_lists() -> None:
    clock = Clock()
    rows = measured(clock, [clock.arm("slow", 8.0), clock.arm("fast", 0.01)], seconds=240)
    assert rows[0]["lists"] == 4  # 240 s in six rounds: 40 s each; an equal share would be two lists


def test_given_time_is_used() -> None:
    clock = Clock()
    measured(clock, [clock.arm(str(took), took) for took in (8.0, 2.0, 0.1)], seconds=240)
    assert 200 < clock.now <= 240 + 10.1  # plus the very first calls


def test_every_system_answers_at_least_one_list() -> None:
    clock = Clock()
    rows = measured(clock, [clock.arm("slow", 8.0), clock.arm("fast", 0.1)], seconds=0)
    assert [(row["lists"], row["repeats"]) for row in rows] == [(1, 1), (1, 1)]


def test_systems_take_turns() -> None:
    clock = Clock()
    measured(clock, [clock.arm("one", 1.0), clock.arm("two", 1.0)], seconds=1e9, repeats=1)
    turns = clock.calls[82:]  # after the warm-up
    assert turns == (["one"] * 10 + ["two"] * 10) * 4


def test_fast_system_is_warmed_up_before_each_turn() -> None:
    clock = Clock()
    arm = clock.arm("quick", 0.01)
    measured(clock, [arm], seconds=1e9, repeats=1)
    assert len(clock.calls) == 1 + 40 + 40 + 4 and len(arm.seconds[0]) == 40


def test_first_round_is_not_measured_and_the_spread_is_over_repeats() -> None:
    clock = Clock()
    took = [99.0, 9.0] + [1.0, 2.0, 3.0, 4.0, 5.0]
    row = measured(clock, [clock.arm("one", took)], seconds=60.0)[0]
    assert (row["lists"], row["repeats"]) == (1, 5)
    assert (row["p50_ms"], row["p50_low_ms"], row["p50_high_ms"]) == (3000, 1000, 5000)


def test_ratios_are_over_common_lists() -> None:
    clock = Clock()
    slow = clock.arm("authors", [99.0] + [6.0, 4.0] * 2)
    fast = clock.arm("ours", [99.0, 1.0, 1.0] + [100.0] * 38 + [1.0, 1.0] + [100.0] * 38)
    calls = in_calls(QUESTIONS, 1)
    for arm, count in ((slow, 2), (fast, 40)):
        measure([arm], calls[:count], 1e9, 1, clock=clock)
    rows = rows_of([slow, fast], calls, 100)
    assert rows[1]["times_authors"] == pytest.approx(5) and rows[1]["times_authors_lists"] == 2


def test_ratios_compare_systems_with_the_same_weights() -> None:
    clock = Clock()
    arms = [clock.arm("authors", 8.0), clock.arm("authors", 4.0, categories=100), clock.arm("ours", 1.0)]
    assert measured(clock, arms, seconds=1e9)[2]["times_authors"] == pytest.approx(8)


def test_ratio_to_autoregressive_generation_is_also_divided_by_k() -> None:
    clock = Clock()
    arms = [clock.arm("autoregressive", 7.0, model="bert4rec", categories=1), clock.arm("ours", 1.0)]
    row = measured(clock, arms, seconds=1e9)[1]
    assert row["times_bert4rec"] == pytest.approx(7)
    assert row["times_bert4rec_over_k"] == pytest.approx((7 / 3 + 7 / 4) / 2)  # k is 3 or 4 in turn


def test_recipe_best_is_compared_with_the_paper_on_the_same_backend() -> None:
    clock = Clock()
    arms = [clock.arm("ours", 1.0), clock.arm("eager", 5.0), clock.arm("ours", 1.2, variant="best")]
    assert measured(clock, arms, seconds=1e9)[2]["times_paper"] == pytest.approx(1 / 1.2)


def test_batch_is_one_call_of_several_lists() -> None:
    clock = Clock()
    row = measured(clock, [clock.arm("ours", 1.0)], seconds=1e9, batch=16)[0]
    assert (row["batch"], row["lists"], row["p50_ms"]) == (16, 32, 1000)  # an incomplete batch is left out
    assert row["lists_per_s"] == pytest.approx(16)


def test_items_are_compared_with_the_reference() -> None:
    clock = Clock()
    other = clock.arm("ours", 1.0)
    other.to_answers = lambda counts: [Answer(np.arange(k) % 3) for k in counts]
    rows = measured(clock, [clock.arm("eager", 1.0), other], seconds=1e9)
    assert rows[0]["same_items"] is None
    assert rows[1]["same_items"] == pytest.approx(6 / 7) and rows[1]["same_items_of"] == 20 * 7
