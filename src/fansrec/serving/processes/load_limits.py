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


class LoadLimits:
    """Decides which requests are refused because of overload."""

    def __init__(self, settings: Settings, queue: Queue) -> None:
        self._settings, self._queue = settings, queue
        self._shedding = False
        self._seconds_per_token = 0.0  # moving average of a worker's time for a token; 0: nothing is known yet
        self._body_bytes = 0
        self._searches = 0

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

    @contextmanager
    def reading_body(self, size: int) -> Iterator[None]:
        """Reserve room for a body of at most `size` bytes while it arrives."""
        if self._body_bytes + size > max(MAX_BODY_BYTES_IN_FLIGHT, self._settings.max_body_bytes):
            raise overload_problem()
        self._body_bytes += size
        try:
            yield
        finally:
            self._body_bytes -= size

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Count a search that waits or runs."""
        if self._searches >= MAX_SEARCHES:
            raise overload_problem()
        self._searches += 1
        try:
            yield
        finally:
            self._searches -= 1
