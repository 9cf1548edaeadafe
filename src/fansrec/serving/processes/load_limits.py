"""Overload: every check whether the service is too busy for a request, and the problem that such a request gets."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fansrec.serving.http.problems import Problem
from fansrec.serving.processes.queue import CROWDED, Queue
from fansrec.serving.processes.standing_delay import StandingDelay
from fansrec.serving.settings import Settings

MAX_BODY_BYTES_IN_FLIGHT = 64 << 20  # many large bodies that arrive slowly must not add up to more than the memory
MAX_SEARCHES = 64  # waiting and running; each takes milliseconds
SMOOTHING = 0.02  # by how much the weight of a worker's reply in the average pace falls with each later one
MARGIN = 1.5  # how many times as long as expected requests may wait: their delay shows a queue as it was, not as it is
BURST = 2  # times `queue_ms`: the longest expected wait, while the delay has not lasted yet


def overload_problem() -> Problem:
    detail = "The service has as many requests as it can answer in time; try again in a second."
    return Problem(429, "overload", detail, retry_after=1)


# Sent thousands of times a second, so it is made once. It is never raised: its traceback would keep requests in memory.
OVERLOAD = overload_problem()


class Budget:
    """A resource that concurrent requests share, such as memory; what exceeds it is refused."""

    def __init__(self, limit: int) -> None:
        self._limit, self._used = limit, 0

    @contextmanager
    def reserve(self, amount: int = 1) -> Iterator[None]:
        if self._used + amount > self._limit:
            raise overload_problem()
        self._used += amount
        try:
            yield
        finally:
            self._used -= amount


class LoadLimits:
    """Decides which requests are refused because of overload.

    A queue may become as long as BURST times `queue_ms`, since bursts pass and machines pause. Once its delay has
    lasted, only as many requests are accepted as keep it at `queue_ms`, until it has been much shorter for a while.
    """

    def __init__(self, settings: Settings, queue: Queue, clock: Callable[[], float] = time.monotonic) -> None:
        self._queue = queue
        self._target, self._workers = settings.queue_ms / 1e3, settings.worker_count
        self._delay = StandingDelay(self._target, clock)
        self._seen = 0.0  # the delay of the latest batch
        self._full = False
        self._seconds = self._tokens = 0.0  # of the latest replies of workers, with falling weights
        self.body_bytes = Budget(max(MAX_BODY_BYTES_IN_FLIGHT, settings.max_body_bytes, settings.max_unpacked_bytes))
        self.searches = Budget(MAX_SEARCHES)

    def refusal(self, tokens: int = 0) -> Problem | None:
        """Return the problem to send when the queue has no room for a request of that many tokens, or None.

        Once the queue was full it must empty a little first: otherwise most requests would be read only to be refused.
        """
        if not self._queue:
            self.observe_delay(0.0)
        wait = max(self._expected_wait, self._seen / MARGIN)
        limit = self._target if self._delay.standing else BURST * self._target
        if wait > limit:
            self._delay.start()
        if wait > limit or self._queue.full(tokens):
            self._full = True
            return OVERLOAD
        self._full = self._full and (self._queue.crowded or wait > CROWDED * limit)
        return OVERLOAD if self._full else None

    @property
    def _expected_wait(self) -> float:
        """Seconds that a request would wait if workers stay as fast as they were."""
        return self._queue.tokens * self._seconds / (self._tokens * self._workers) if self._tokens else 0.0

    def observe_delay(self, seconds: float) -> None:
        """Take note of how long the first request of a batch was in the queue.

        While no worker is there to take requests nothing is known: they may all be back in a moment.
        """
        self._seen = seconds
        self._delay.observe(seconds)

    def observe_pace(self, seconds: float, tokens: int) -> None:
        """Take note of how long a worker took for this many tokens.

        Their sums are compared: a mean of the ratios of single requests would count small requests too much, which
        take longer per token.
        """
        self._seconds += seconds - SMOOTHING * self._seconds
        self._tokens += tokens - SMOOTHING * self._tokens
