"""The judge of answers: what a backend gives, held against float64 scores.

Two right engines may part where scores tie, and then go on differently, since an item is given only once. So every item
is judged in the light of the backend's own earlier ones: it must be allowed, and its float64 score must be within a
tolerance of the best allowed one at its place. Backends that compute in fp32 are judged with `FP32`, those that round
to fp16 with `FP16`. A tolerance only covers ties: an item that is not allowed, repeated or missing is always a fault.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.engine.decoding.dense import Choice, Limits
from fansrec.engine.generation import AUTOREGRESSIVE, ONE_PASS, begin, recalled
from fansrec.engine.interface import Continuation
from fansrec.engine.rules import Rules, limits_of


@dataclass(frozen=True)
class Tolerance:
    """How far a backend may be from float64, in log-probabilities."""

    tie: float  # below the best allowed item, or the best category
    score: float  # between the reported score and the right one; relative where scores are beyond 1


FP32 = Tolerance(tie=1e-5, score=1e-4)
# fp16 rounds every value by up to 2**-11 (about 5e-4) of itself, in weights and after each product. Measured on an H200
# over the 64,064 items of `test_cuda_backend.py`: at most 6.1e-3 below the best (16 items are not the best), scores at
# most 1.02e-2 away.
FP16 = Tolerance(tie=1e-2, score=2e-2)


def faults(
    double: Any,
    way: str,
    inputs: Sequence[NDArray[np.int64]],
    wanted: Sequence[int],
    rules: Rules,
    answers: Sequence[Continuation],
    tolerance: Tolerance = FP32,
) -> list[str]:
    """What is wrong with `answers`, a line each, by `double`: the model in float64; nothing if they are right."""
    found = []
    with torch.inference_mode():
        for number, (given, count, answer) in enumerate(zip(inputs, wanted, answers, strict=True)):
            items = double.config.category_starts[-1]
            limits = limits_of(rules, [given], [min(count, items)], items, torch.device("cpu"))
            for fault in _faults_of_one(double, way, given, min(count, items), limits, answer, tolerance):
                found.append(f"list {number} ({len(given)} given, {count} wanted): {fault}")
    return found


def _faults_of_one(
    double: Any,
    way: str,
    given: NDArray[np.int64],
    count: int,
    limits: Limits,
    answer: Continuation,
    tolerance: Tolerance,
) -> Iterator[str]:
    if len(answer.items) != len(set(answer.items.tolist())):
        yield "an item came twice"
    if way == AUTOREGRESSIVE:
        yield from _step_by_step(double, given, count, limits, answer, tolerance)
    elif hasattr(double, "score_lists"):
        scores = double.score_lists([given], [count if way == ONE_PASS else 1])
        yield from _in_order(scores.expand(count, -1), limits, answer, tolerance)
    elif way == ONE_PASS or not hasattr(double, "score_next"):
        score = double.score_positions([given], [count]) if way == ONE_PASS else recalled(double, [given])
        yield from _by_position(score, double.ranks, count, limits, answer, tolerance)
    else:
        yield from _in_order(double.score_next([given]).expand(count, -1), limits, answer, tolerance)


def _step_by_step(
    double: Any, given: NDArray[np.int64], count: int, limits: Limits, answer: Continuation, tolerance: Tolerance
) -> Iterator[str]:
    """Every step is asked anew after the backend's own items."""
    steps = begin(double, [given], count)
    rows = []
    for item in answer.items.tolist():
        rows.append(steps.scores()[0].clone())
        steps.append(torch.tensor([item]))
    if len(answer.items) < count:
        rows += [steps.scores()[0]] * (count - len(answer.items))
    yield from _in_order(torch.stack(rows), limits, answer, tolerance)


def _in_order(scores: torch.Tensor, limits: Limits, answer: Continuation, tolerance: Tolerance) -> Iterator[str]:
    """One row of scores for each place; an answer that ends early must have had nothing more to give."""
    choice = Choice(limits)
    for place, row in enumerate(scores):
        if place < len(answer.items):
            yield from _judge(choice, row, place, int(answer.items[place]), float(answer.scores[place]), tolerance)
        elif _best(choice, row) is not None:
            yield f"ended after {len(answer.items)}, though more was allowed"
            return


def _by_position(
    score: Any, ranks: int, count: int, limits: Limits, answer: Continuation, tolerance: Tolerance
) -> Iterator[str]:
    """All positions at the first rank, then those without an item at the next: `decoding.by_position`, followed.

    Positions without any item are left out of an answer, so the walk finds by itself which ones have none; an answer is
    matched to the positions that could be filled, in order.
    """
    choice = Choice(limits)
    taken: dict[int, tuple[int, float]] = {}
    by_rank = [score(0, count, rank)[0] for rank in range(ranks)]
    told = list(zip(answer.items.tolist(), answer.scores.tolist(), strict=True))
    if len(told) == count:
        taken = dict(enumerate(told))
    waiting = list(range(count))
    for scores in by_rank:
        left = []
        for place in waiting:
            best = _best(choice, scores[place])
            if best is None:
                left.append(place)
                continue
            item, said = taken.get(place, (best[1], best[0]))
            row = _row_of(item, scores[place], [others[place] for others in by_rank], tolerance)
            if row is None:
                yield f"position {place} has item {item} of another category, {best[1]} was right"
                return
            yield from _judge(choice, row, place, item, said, tolerance)
        waiting = left
    if len(told) != count:  # then it must be what is left, item by item, ties aside
        right = choice.items[0][choice.items[0] >= 0].tolist()
        if len(right) != len(told):
            yield f"gave {len(told)} items, {len(right)} were right"
        elif right != answer.items.tolist():
            yield f"gave {answer.items.tolist()}, {right} was right"


def _row_of(
    item: int, expected: torch.Tensor, of_ranks: list[torch.Tensor], tolerance: Tolerance
) -> torch.Tensor | None:
    """Return the row that scores `item`: the expected one, or one whose category is as probable; None if neither."""
    if torch.isfinite(expected[item]):
        return expected
    row = next(row for row in of_ranks if torch.isfinite(row[item]))
    return row if expected.logsumexp(0) - row.logsumexp(0) <= tolerance.tie else None


def _best(choice: Choice, row: torch.Tensor) -> tuple[float, int] | None:
    value, item = row.masked_fill(choice.blocked[0], -torch.inf).max(0)
    return (float(value), int(item)) if bool(choice.good_enough(value)) else None


def _judge(
    choice: Choice, row: torch.Tensor, place: int, item: int, said: float, tolerance: Tolerance
) -> Iterator[str]:
    best = _best(choice, row)
    if best is None or bool(choice.blocked[0, item]):
        yield f"position {place} has item {item}, which is not allowed"
        return
    if best[0] - float(row[item]) > tolerance.tie:
        yield f"position {place} has item {item} of score {float(row[item]):.7f}, but {best[1]} has {best[0]:.7f}"
    if abs(float(row[item]) - said) > tolerance.score * max(1.0, abs(said)):
        yield f"position {place}: item {item} was said to have score {said:.6f}, it has {float(row[item]):.6f}"
    where, which = torch.tensor([0]), torch.tensor([item])
    choice.put(where, torch.tensor([place]), which, row[which].to(choice.scores))
