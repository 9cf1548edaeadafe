"""Retries of a request: when another attempt may help, how long to wait before it, when to give up."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from random import Random

from fansrec.errors import BadSetting, FansError

FIRST_PAUSE, MAX_PAUSE = 0.1, 5.0  # seconds
TEMPORARY = {429, 502, 503, 504}  # statuses of a service that may answer soon


class Unavailable(FansError):
    """The service gave no answer: it cannot be reached, is overloaded, too slow or broken."""


@dataclass(frozen=True)
class Request:
    """One request to the service."""

    method: str
    path: str
    params: dict[str, str | int] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    repeatable: bool = True  # whether sending it twice has the same effect as sending it once


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class NoResponse:
    """A request that got no response."""

    reason: str
    sent: bool  # whether the service may have read the request


Outcome = Response | NoResponse


@dataclass(frozen=True)
class RetryPolicy:
    """The timeout and the number of retries of a client."""

    timeout: float
    retries: int
    clock: Callable[[], float]
    random: Random

    def __post_init__(self) -> None:
        _check_timeout(self.timeout)
        if self.retries < 0:
            raise BadSetting(f"retries is {self.retries}; it must be 0 or more")


class Attempts:
    """The attempts of one request. The pauses between them have random lengths below a limit that doubles, so that
    clients that are refused together do not come back together."""

    def __init__(self, policy: RetryPolicy, timeout: float | None = None) -> None:
        self._policy, self.made = policy, 0
        self._deadline = policy.clock() + (policy.timeout if timeout is None else _check_timeout(timeout))

    def seconds_left(self) -> float:
        return max(0.0, self._deadline - self._policy.clock())

    def next_pause(self, request: Request, outcome: Outcome) -> float | None:
        """Return the seconds to wait before the next attempt, or None if there is none."""
        limit = min(MAX_PAUSE, FIRST_PAUSE * 2.0**self.made)
        self.made += 1
        pause = self._policy.random.uniform(0, limit) + _retry_after(outcome)
        again = self.made <= self._policy.retries and _may_succeed(request, outcome) and pause < self.seconds_left()
        return pause if again else None


def response_of(outcome: Outcome, attempts: Attempts) -> Response:
    """Return the last outcome of a request if it is a response; raise Unavailable otherwise."""
    if isinstance(outcome, Response):
        return outcome
    count = f" in {attempts.made} attempts" if attempts.made > 1 else ""
    raise Unavailable(f"no answer from the service{count}: {outcome.reason}; check that `fans serve` runs there")


def _may_succeed(request: Request, outcome: Outcome) -> bool:
    if isinstance(outcome, NoResponse):
        return request.repeatable or not outcome.sent
    # After 502 and 504 the request may have been read; 429 and 503 are sent before that.
    return outcome.status in (TEMPORARY if request.repeatable else {429, 503})


def _retry_after(outcome: Outcome) -> float:
    """Return the seconds of the header Retry-After, which is a number or a date."""
    text = "" if isinstance(outcome, NoResponse) else outcome.headers.get("retry-after", "")
    try:
        seconds = float(text) if not text[:1].isalpha() else parsedate_to_datetime(text).timestamp() - time.time()
    except ValueError:
        return 0.0
    return max(0.0, seconds) if math.isfinite(seconds) else 0.0


def _check_timeout(timeout: float) -> float:
    if not timeout > 0:
        raise BadSetting(f"timeout is {timeout}; it must be more than 0 seconds")
    return timeout
