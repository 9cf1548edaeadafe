"""Several systems on the same lists, in turns, so that a busy moment hits them alike.

First comes a round that is not measured: it warms up, keeps the answers for comparison, and shows how many of the lists
each system can be given in the time there is. Then all repeats are measured, each over the same lists.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.experiments.speed.agreement import Given
from fansrec.experiments.speed.defaults import REPEATS
from fansrec.experiments.speed.workloads import Question

TURN = 10  # calls in a row: a service asks one model again and again, so its weights may stay near the processor
QUICK = 0.05  # seconds: a call that can be made once more before each turn, to have its weights and threads back
SETTLED = 0.03  # seconds after which the threads of the system before no longer look for work

Call = Sequence[Question]
Progress = Callable[[int, int], None]  # calls done of all


@dataclass
class Arm:
    """One system under measurement, and what each of its calls took."""

    arm: str  # authors, eager, autoregressive, linear or ours
    model: str
    variant: str
    categories: int
    backend: str
    device: str
    answer: Callable[[Sequence[NDArray[np.int64]], Sequence[int]], Any]  # from item numbers to item numbers
    given_by: Callable[[Any], list[Given]]  # from an answer to what can be compared; not measured
    one_by_one: bool = False
    engine: Any = None  # where there is one behind it
    items: int | None = None  # where systems of one run have more or fewer
    calls: int = 0  # how many of the calls it is given
    warm_up: list[float] = field(default_factory=list)
    seconds: list[list[float]] = field(default_factory=list)  # of each repeat, of each call
    given: list[Given] = field(default_factory=list)

    def fresh(self) -> "Arm":
        """The same system, not measured yet."""
        return replace(self, calls=0, warm_up=[], seconds=[], given=[])

    def call_seconds(self) -> NDArray[np.float64]:
        """(calls,): the median over the repeats."""
        return np.median(np.array(self.seconds), axis=0)  # type: ignore[no-any-return]


def measure(
    arms: Sequence[Arm],
    calls: Sequence[Call],
    seconds: float,
    repeats: int = REPEATS,
    progress: Progress = lambda done, of: None,
    clock: Callable[[], float] = time.perf_counter,
) -> None:
    """Fill in all arms, in about so many seconds."""
    _plan(arms, calls, seconds / (1 + repeats), clock)
    total = repeats * sum(arm.calls for arm in arms)
    began = clock()
    for number in range(repeats):
        if number and clock() - began > seconds:  # the machine has become slower than the first round foretold
            break
        for arm in arms:
            arm.seconds.append([])
        for first in range(0, max(arm.calls for arm in arms), TURN):
            for arm in arms:
                _take_turn(arm, calls[first : min(first + TURN, arm.calls)], clock)
            progress(sum(len(row) for arm in arms for row in arm.seconds), total)


def _plan(arms: Sequence[Arm], calls: Sequence[Call], seconds: float, clock: Callable[[], float]) -> None:
    """Everybody gets a call, then an even share of the time; what is left goes to those with the fewest calls."""
    shortest = min((question for call in calls for question in call), key=lambda question: question.k)
    for arm in arms:
        _timed(arm, [shortest], clock)  # the very first call of a system takes longer and foretells nothing
        _warm(arm, calls, clock)
        while arm.calls < len(calls) and (arm.calls + 1) * _likely(arm) <= seconds / len(arms):
            _warm(arm, calls, clock)
    while True:
        left = seconds - sum(arm.calls * _likely(arm) for arm in arms)
        waiting = [arm for arm in arms if arm.calls < len(calls) and _likely(arm) <= left]
        if not waiting:
            return
        _warm(min(waiting, key=lambda arm: arm.calls), calls, clock)


def _warm(arm: Arm, calls: Sequence[Call], clock: Callable[[], float]) -> None:
    took, answer = _timed(arm, calls[arm.calls], clock)
    arm.warm_up.append(took)
    arm.given += arm.given_by(answer)
    arm.calls += 1


def _likely(arm: Arm) -> float:
    return float(np.median(arm.warm_up))


def _take_turn(arm: Arm, calls: Sequence[Call], clock: Callable[[], float]) -> None:
    if calls and _likely(arm) < QUICK:
        time.sleep(SETTLED)
        _timed(arm, calls[-1], clock)
    arm.seconds[-1] += [_timed(arm, call, clock)[0] for call in calls]


def _timed(arm: Arm, call: Call, clock: Callable[[], float]) -> tuple[float, Any]:
    """The seconds from item numbers in to item numbers out, the device's work included: answers are read back."""
    inputs, counts = [question.input for question in call], [question.k for question in call]
    began = clock()
    answer = arm.answer(inputs, counts)
    return clock() - began, answer


def in_calls(questions: Sequence[Question], batch: int) -> list[Call]:
    """Full batches only, unless there is not even one."""
    whole = len(questions) // batch * batch or len(questions)
    return [questions[first : first + batch] for first in range(0, whole, batch)]
