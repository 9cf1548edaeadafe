"""Time several implementations in turns, so that a busy moment of the machine affects all of them."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

TURN, WARM = (
    40,
    5,
)  # calls in a row: each side has its own copy of the weights, which the first calls bring into the caches


@dataclass
class Side:
    """One of the implementations that take turns."""

    call: Callable[[int], object]
    pause: float = 0.0  # before each call
    seconds: list[float] = field(default_factory=list)

    def percentile(self, percent: float) -> float:
        """Return a percentile in milliseconds."""
        return float(np.percentile(self.seconds, percent)) * 1000


def in_turns(sides: Sequence[Side], calls: int, seconds: float) -> Sequence[Side]:
    """Time every call of each side; a turn begins with calls that are not counted."""
    began, first = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        numbers = [number % calls for number in range(first, first + TURN)]
        for side in sides:
            for number in numbers[-WARM:]:
                side.call(number)
            for number in numbers:
                if side.pause:
                    time.sleep(side.pause)
                start = time.perf_counter()
                side.call(number)
                side.seconds.append(time.perf_counter() - start)
        first += TURN
    return sides
