"""Timing of several systems on the same lists, in turn, so that a busy moment affects them equally.

A first round is not measured: it warms up, keeps the answers for comparison, and shows how many of the lists each
system can answer in the given time. Then all repeats are measured, each over the same lists.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.experiments.speed.memory import Memory, watched
from fansrec.experiments.speed.workloads import Question

TURN = 10  # calls in a row: a service calls one model again and again, so its weights may stay in the cache
QUICK = 0.05  # seconds: such a call is made once more before each turn, to warm up caches and threads
SETTLE = 0.03  # seconds until the threads of the previous system stop spinning

UNKNOWN = -1  # an item that cannot be compared

Items = NDArray[np.int64]
Call = Sequence[Question]
Progress = Callable[[int, int], None]  # calls done, calls in total


@dataclass(frozen=True)
class Answer:
    """The answer of a system to one list; some systems give no scores."""

    items: Items
    scores: NDArray[Any] | None = None


@dataclass
class Arm:
    """A system to measure, and the time of each of its calls."""

    arm: str  # authors, eager, compiled, autoregressive, linear, ours or padded
    model: str
    variant: str
    categories: int
    backend: str
    device: str
    answer: Callable[[Sequence[NDArray[np.int64]], Sequence[int]], Any]  # from item indices to item indices
    to_answers: Callable[[Any], list[Answer]]  # converts the result for comparison; not measured
    autoregressive: bool = False
    engine: Any = None  # the engine, if there is one
    items: int | None = None  # if the systems of one run differ in their number of items
    run: str | None = None  # the trained model, if weights are not random
    prepare: Callable[[Sequence[Call]], None] = lambda calls: None  # compiles what these calls need
    calls: int = 0  # number of calls it gets
    warm_up: list[float] = field(default_factory=list)
    seconds: list[list[float]] = field(default_factory=list)  # by repeat and call
    answers: list[Answer] = field(default_factory=list)
    memory: Memory = field(default_factory=Memory)  # of the first round

    def fresh(self) -> "Arm":
        """Return the same system without measurements."""
        return replace(self, calls=0, warm_up=[], seconds=[], answers=[], memory=Memory())

    def call_seconds(self) -> NDArray[np.float64]:
        """Return the median time of each call over the repeats, shape (calls,)."""
        return np.median(np.array(self.seconds), axis=0)  # type: ignore[no-any-return]


def measure(
    arms: Sequence[Arm],
    calls: Sequence[Call],
    seconds: float,
    repeats: int,
    progress: Progress = lambda done, total: None,
    clock: Callable[[], float] = time.perf_counter,
) -> None:
    """Fill in the measurements of all arms, in about `seconds` seconds."""
    _plan(arms, calls, seconds / (1 + repeats), clock)
    total = repeats * sum(arm.calls for arm in arms)
    started = clock()
    for number in range(repeats):
        if number and clock() - started > seconds:  # the machine became slower than the first round predicted
            break
        for arm in arms:
            arm.seconds.append([])
        for first in range(0, max(arm.calls for arm in arms), TURN):
            for arm in arms:
                _take_turn(arm, calls[first : min(first + TURN, arm.calls)], clock)
            progress(sum(len(row) for arm in arms for row in arm.seconds), total)


def _plan(arms: Sequence[Arm], calls: Sequence[Call], seconds: float, clock: Callable[[], float]) -> None:
    """Give every arm one call, then an equal share of the time; the rest goes to the arms with the fewest calls."""
    shortest = min((question for call in calls for question in call), key=lambda question: question.k)
    for arm in arms:
        arm.prepare(calls)
        _timed(arm, [shortest], clock)  # the very first call of a system is slower than all others
        with watched(arm.device if arm.engine is None else arm.engine.device) as arm.memory:
            _warm_up(arm, calls, clock)
            while arm.calls < len(calls) and (arm.calls + 1) * _expected(arm) <= seconds / len(arms):
                _warm_up(arm, calls, clock)
    while True:
        left = seconds - sum(arm.calls * _expected(arm) for arm in arms)
        waiting = [arm for arm in arms if arm.calls < len(calls) and _expected(arm) <= left]
        if not waiting:
            return
        _warm_up(min(waiting, key=lambda arm: arm.calls), calls, clock)


def _warm_up(arm: Arm, calls: Sequence[Call], clock: Callable[[], float]) -> None:
    seconds, result = _timed(arm, calls[arm.calls], clock)
    arm.warm_up.append(seconds)
    arm.answers += arm.to_answers(result)
    arm.calls += 1


def _expected(arm: Arm) -> float:
    return float(np.median(arm.warm_up))


def _take_turn(arm: Arm, calls: Sequence[Call], clock: Callable[[], float]) -> None:
    if calls and _expected(arm) < QUICK:
        time.sleep(SETTLE)
        _timed(arm, calls[-1], clock)
    arm.seconds[-1] += [_timed(arm, call, clock)[0] for call in calls]


def _timed(arm: Arm, call: Call, clock: Callable[[], float]) -> tuple[float, Any]:
    """Return the seconds and the result of a call; results are read back, so the device's work is included."""
    inputs, counts = [question.input for question in call], [question.k for question in call]
    started = clock()
    result = arm.answer(inputs, counts)
    return clock() - started, result


def in_calls(questions: Sequence[Question], batch: int) -> list[Call]:
    """Return the questions in full batches only, or in one smaller batch if there are too few for one."""
    whole = len(questions) // batch * batch or len(questions)
    return [questions[first : first + batch] for first in range(0, whole, batch)]
