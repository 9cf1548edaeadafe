"""The check of a backend's answers against float64 scores.

Two correct engines may differ where scores tie, and then continue differently, since an item is given only once. So
every item is checked given the backend's own earlier items: it must be allowed, and its float64 score must be within a
tolerance of the best allowed one at its position. Backends that compute in fp32 are checked with `FP32`, those that
round to fp16 with `FP16`. A tolerance only covers ties: an item that is not allowed, repeated or missing is always a
fault. The check shares no code with the selection that it checks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.engine.decoding.limits import Limits, make_limits
from fansrec.engine.generation import repeat_first, start_steps
from fansrec.engine.interface import Continuation
from fansrec.engine.modes import AUTOREGRESSIVE, ONE_PASS
from fansrec.engine.rules import Rules
from fansrec.models.contract import ScoresLists, ScoresNext


@dataclass(frozen=True)
class Tolerance:
    """How far a backend may be from float64, in log-probabilities."""

    tie: float  # below the best allowed item, or the best category
    score: float  # between the reported score and the correct one; relative where scores are beyond 1


FP32 = Tolerance(tie=1e-5, score=1e-4)
# fp16 rounds every value by up to 2**-11 (about 5e-4) of itself, in weights and after each product. Measured on an H200
# over the 64,064 items of `test_cuda_backend.py`: at most 6.1e-3 below the best (16 items are not the best), scores at
# most 1.02e-2 away.
FP16 = Tolerance(tie=1e-2, score=2e-2)


def faults(
    double: Any,
    mode: str,
    inputs: Sequence[NDArray[np.int64]],
    counts: Sequence[int],
    rules: Rules,
    answers: Sequence[Continuation],
    tolerance: Tolerance = FP32,
) -> list[str]:
    """Return what is wrong with `answers`, one line each, by `double`, the model in float64; empty if all is right."""
    found = []
    with torch.inference_mode():
        for number, (given, count, answer) in enumerate(zip(inputs, counts, answers, strict=True)):
            items = double.config.category_starts[-1]
            limits = make_limits(rules, [given], [min(count, items)], items, torch.device("cpu"))
            for fault in _faults_of_one(double, mode, given, min(count, items), limits, answer, tolerance):
                found.append(f"list {number} ({len(given)} given, {count} requested): {fault}")
    return found


def _faults_of_one(
    double: Any,
    mode: str,
    given: NDArray[np.int64],
    count: int,
    limits: Limits,
    answer: Continuation,
    tolerance: Tolerance,
) -> Iterator[str]:
    if len(answer.items) != len(set(answer.items.tolist())):
        yield "an item is repeated"
    scored = [count if mode == ONE_PASS else 1]
    if mode == AUTOREGRESSIVE:
        yield from _step_by_step(double, given, count, limits, answer, tolerance)
    elif isinstance(double, ScoresLists):
        yield from _in_order(double.score_lists([given], scored).expand(count, -1), limits, answer, tolerance)
    elif mode == ONE_PASS or not isinstance(double, ScoresNext):
        scores = double.score_positions([given], scored)
        scores = scores if mode == ONE_PASS else repeat_first(scores)
        yield from _by_position(scores, double.ranks, count, limits, answer, tolerance)
    else:
        yield from _in_order(double.score_next([given]).expand(count, -1), limits, answer, tolerance)


def _step_by_step(
    double: Any, given: NDArray[np.int64], count: int, limits: Limits, answer: Continuation, tolerance: Tolerance
) -> Iterator[str]:
    """Score every step after the backend's own items."""
    steps = start_steps(double, [given], count)
    rows = []
    for item in answer.items.tolist():
        rows.append(steps.scores()[0].clone())
        steps.append(torch.tensor([item]))
    if len(answer.items) < count:
        rows += [steps.scores()[0]] * (count - len(answer.items))
    yield from _in_order(torch.stack(rows), limits, answer, tolerance)


def _in_order(scores: torch.Tensor, limits: Limits, answer: Continuation, tolerance: Tolerance) -> Iterator[str]:
    """Check one row of scores for each position; an answer that ends early must have had no allowed item left."""
    progress = Progress(limits, tolerance)
    for position, row in enumerate(scores):
        if position < len(answer.items):
            yield from progress.check(row, position, int(answer.items[position]), float(answer.scores[position]))
        elif progress.best(row) is not None:
            yield f"ended after {len(answer.items)}, though more was allowed"
            return


def _by_position(
    scores: Any, ranks: int, count: int, limits: Limits, answer: Continuation, tolerance: Tolerance
) -> Iterator[str]:
    """Check all positions at the first rank, then those without an item at the next rank.

    Positions without an item are left out of an answer, so the check finds out which ones they are; an answer is
    matched to the positions that could be filled, in order.
    """
    progress = Progress(limits, tolerance)
    by_rank = [scores(0, count, rank)[0] for rank in range(ranks)]
    reported = list(zip(answer.items.tolist(), answer.scores.tolist(), strict=True))
    taken = dict(enumerate(reported)) if len(reported) == count else {}
    waiting = list(range(count))
    for rows in by_rank:
        left = []
        for position in waiting:
            best = progress.best(rows[position])
            if best is None:
                left.append(position)
                continue
            item, score = taken.get(position, (best[1], best[0]))
            row = _row_of(item, rows[position], [others[position] for others in by_rank], tolerance)
            if row is None:
                yield f"position {position} has item {item} of another category, {best[1]} was right"
                return
            yield from progress.check(row, position, item, score)
        waiting = left
    if len(reported) != count:  # then it must be what is left, item by item, ties aside
        right = [item for _, item in sorted(progress.items.items())]
        if len(right) != len(reported):
            yield f"gave {len(reported)} items, {len(right)} were right"
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


class Progress:
    """The items of one answer so far, by position."""

    def __init__(self, limits: Limits, tolerance: Tolerance) -> None:
        self.limits, self.tolerance = limits, tolerance
        self.items: dict[int, int] = {}

    def blocked(self) -> torch.Tensor:
        """Return what the answer may not contain at the next position, (M,)."""
        blocked, groups, taken = self.limits.blocked[0].clone(), self.limits.groups, list(self.items.values())
        blocked[taken] = True
        if groups is not None and self.limits.max_per_group is not None:
            own = groups[taken].tolist()
            full = [group for group in set(own) if own.count(group) >= self.limits.max_per_group]
            blocked |= torch.isin(groups, torch.tensor(full, dtype=groups.dtype))
        return blocked

    def best(self, row: torch.Tensor) -> tuple[float, int] | None:
        """Return the best allowed score and its item, if there is one."""
        value, item = row.masked_fill(self.blocked(), -torch.inf).max(0)
        floor = -torch.inf if self.limits.min_score is None else self.limits.min_score
        return (float(value), int(item)) if bool(value.isfinite()) and float(value) >= floor else None

    def check(self, row: torch.Tensor, position: int, item: int, score: float) -> Iterator[str]:
        best = self.best(row)
        if best is None or bool(self.blocked()[item]):
            yield f"position {position} has item {item}, which is not allowed"
            return
        right = float(row[item])
        if best[0] - right > self.tolerance.tie:
            yield f"position {position} has item {item} of score {right:.7f}, but {best[1]} has {best[0]:.7f}"
        if abs(right - score) > self.tolerance.score * max(1.0, abs(score)):
            yield f"position {position}: item {item} is reported with score {score:.6f}, it has {right:.6f}"
        self.items[position] = item
