"""A call to the service and its repetitions: when one is of use, how long to wait before, when to give up."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from random import Random

from fansrec.errors import BadSetting, FansError

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds
PASSING = {429, 502, 503, 504}  # statuses of a service that may well answer in a moment


class Unavailable(FansError):
    """The service gave no answer: out of reach, overloaded, too slow or broken."""


@dataclass(frozen=True)
class Call:
    """One question to the service."""

    method: str
    path: str
    params: dict[str, str | int] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    repeatable: bool = True  # whether asking twice does no more than asking once


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Lost:
    """No reply came."""

    why: str
    begun: bool  # whether the service may have read the question


class Attempts:
    """How long one call may go on, and when it is tried again: pauses double, and each is drawn below its bound, so
    that clients refused together do not come back together."""

    def __init__(self, timeout: float, retries: int, clock: Callable[[], float], random: Random) -> None:
        self.clock, self.random, self.retries, self.made = clock, random, retries, 0
        self.ends = clock() + timeout

    def left(self) -> float:
        return max(0.0, self.ends - self.clock())

    def pause_after(self, call: Call, outcome: Reply | Lost) -> float | None:
        """Seconds to wait before the next attempt; None where there is none."""
        bound = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**self.made)
        self.made += 1
        pause = self.random.uniform(0, bound) + _asked_to_wait(outcome)
        again = self.made <= self.retries and _may_pass(call, outcome) and pause < self.left()
        return pause if again else None


class Manner:
    """How long and how often a client asks."""

    def __init__(self, timeout: float, retries: int, clock: Callable[[], float], random: Random) -> None:
        if retries < 0:
            raise BadSetting(f"retries is {retries}; it must be 0 or more")
        self.timeout, self.retries, self.clock, self.random = _positive(timeout), retries, clock, random

    def attempts(self, timeout: float | None = None) -> Attempts:
        seconds = self.timeout if timeout is None else _positive(timeout)
        return Attempts(seconds, self.retries, self.clock, self.random)


def reply_of(outcome: Reply | Lost, attempts: Attempts) -> Reply:
    """The last outcome of a call, if it is a reply at all."""
    if isinstance(outcome, Reply):
        return outcome
    times = f" in {attempts.made} attempts" if attempts.made > 1 else ""
    raise Unavailable(f"no answer from the service{times}: {outcome.why}; see that `fans serve` runs there")


def _may_pass(call: Call, outcome: Reply | Lost) -> bool:
    if isinstance(outcome, Lost):
        return call.repeatable or not outcome.begun
    # 502 and 504 do not tell whether the question had been read; 429 and 503 are refusals before that.
    return outcome.status in (PASSING if call.repeatable else {429, 503})


def _asked_to_wait(outcome: Reply | Lost) -> float:
    """Seconds that Retry-After names, as a number or as a date."""
    text = "" if isinstance(outcome, Lost) else outcome.headers.get("retry-after", "")
    try:
        seconds = float(text) if not text[:1].isalpha() else parsedate_to_datetime(text).timestamp() - time.time()
    except ValueError:
        return 0.0
    return max(0.0, seconds) if math.isfinite(seconds) else 0.0


def _positive(timeout: float) -> float:
    if not timeout > 0:
        raise BadSetting(f"timeout is {timeout}; it must be more than 0 seconds")
    return timeout
