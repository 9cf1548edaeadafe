"""Overload: every check whether the service is too busy for a request, and the problem that such a request gets."""

from collections.abc import Iterator
from contextlib import contextmanager

from fansrec.serving.http.problems import Problem
from fansrec.serving.processes.queue import CROWDED, Queue
from fansrec.serving.settings import Settings

MAX_BODY_BYTES_IN_FLIGHT = 64 << 20  # many large bodies that arrive slowly must not add up to more than the memory
MAX_SEARCHES = 64  # waiting and running; each takes milliseconds
SMOOTHING = 0.02  # weight of the latest reply in the average time per token


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
    """Decides which requests are refused because of overload."""

    def __init__(self, settings: Settings, queue: Queue) -> None:
        self._settings, self._queue = settings, queue
        self._shedding = False
        self._seconds_per_token = 0.0  # moving average of a worker's time for a token; 0: nothing is known yet
        self.body_bytes = Budget(max(MAX_BODY_BYTES_IN_FLIGHT, settings.max_body_bytes))
        self.searches = Budget(MAX_SEARCHES)

    def refusal(self, tokens: int = 0) -> Problem | None:
        """Return the problem to send when the queue has no room for a request of that many tokens, or None.

        Once the queue was full it must empty a little first: otherwise most requests would be read only to be refused.
        """
        limit = self._settings.queue_ms / 1e3
        if self._queue.full(tokens) or self._expected_wait > limit:
            self._shedding = True
            return OVERLOAD
        self._shedding = self._shedding and (self._queue.crowded or self._expected_wait > CROWDED * limit)
        return OVERLOAD if self._shedding else None

    @property
    def _expected_wait(self) -> float:
        """Seconds that a request would wait if workers stay as fast as they were."""
        return self._queue.tokens * self._seconds_per_token / self._settings.worker_count

    def observe(self, seconds_per_token: float) -> None:
        """Update the average speed of the workers."""
        known = self._seconds_per_token
        self._seconds_per_token += SMOOTHING * (seconds_per_token - known) if known else seconds_per_token
