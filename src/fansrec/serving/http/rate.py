"""A limit on how much may be written in a second."""

import math
import time
from collections.abc import Callable

from fansrec.serving.http.problems import Problem


class Rate:
    """A token bucket: `per_second` in the long run, and at most `burst` (or those of a second) at once."""

    def __init__(self, per_second: float, burst: float = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._clock = per_second, clock
        self._capacity = self._left = max(per_second, burst)
        self._at = clock()

    def take(self, amount: float) -> None:
        """Take this much, at most the capacity; raise a Problem that says when to try again if it is not left."""
        now = self._clock()
        self._left = min(self._capacity, self._left + (now - self._at) * self._per_second)
        self._at = now
        missing = amount - self._left
        if missing > 0:
            seconds = math.ceil(missing / self._per_second)
            detail = f"The service takes {self._per_second:g} of these in a second; try again in {seconds} s."
            raise Problem(429, "too-fast", detail, retry_after=seconds)
        self._left -= amount
