"""The outcome of every request of a load, each counted once."""

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

PERCENTILES = (50, 90, 99, 99.9)


@dataclass
class Tally:
    """One entry per finished request: when it was due, how long it took from then, and its status."""

    sent: int = 0
    starts: "array[float]" = field(default_factory=lambda: array("d"))  # seconds after the load began
    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    statuses: "array[int]" = field(default_factory=lambda: array("h"))  # 0: no answer
    failed: Counter[str] = field(default_factory=Counter)  # by kind of failure
    took: float = 0.0  # seconds, from the first request to the last answer
    lasted: float = 0.0  # seconds in which requests were sent
    notes: dict[str, int] = field(default_factory=dict)  # of the check of the answers
    cpu: float = 0.0  # processor time of the generator itself, in seconds

    def answer(self, start: float, seconds: float, status: int) -> None:
        self.starts.append(start)
        self.seconds.append(seconds)
        self.statuses.append(status)

    def fail(self, start: float, seconds: float, kind: str) -> None:
        self.answer(start, seconds, 0)
        self.failed[kind] += 1

    @property
    def by_status(self) -> dict[int, int]:
        statuses, counts = np.unique(np.array(self.statuses), return_counts=True)
        return {int(s): int(c) for s, c in zip(statuses, counts, strict=True) if s}

    def wrong(self, quick: bool = False) -> dict[str, int]:
        """Return the number of outcomes other than 200, by kind.

        In a quick run 429 is not an error: the machine may be too busy for the load that it handled a second ago.
        """
        right = (200, 429) if quick else (200,)
        statuses = {str(status): count for status, count in self.by_status.items() if status not in right}
        return statuses | dict(self.failed)

    def milliseconds(self, status: int = 200) -> NDArray[np.float64]:
        """Return the times of the answers with this status, from the moment each request was due."""
        times: NDArray[np.float64] = np.array(self.seconds)[np.array(self.statuses) == status] * 1000
        return times

    def percentile(self, percent: float, status: int = 200) -> float:
        times = self.milliseconds(status)
        return float(np.percentile(times, percent)) if len(times) else float("nan")

    def per_second(self, status: int = 200) -> list[int]:
        """Return the number of answers with this status in each second."""
        here = np.array(self.statuses) == status
        ends = np.array(self.starts)[here] + np.array(self.seconds)[here]
        return np.bincount(ends.astype(int)).tolist() if len(ends) else []

    def goodput(self) -> float:
        """Return the answers with status 200 per second, over the time in which requests were sent."""
        ends = np.array(self.starts) + np.array(self.seconds)
        within = (np.array(self.statuses) == 200) & (ends <= self.lasted)
        return float(within.sum() / self.lasted) if self.lasted else 0.0

    def row(self) -> dict[str, Any]:
        """Return a summary without the single requests, for a file."""
        times = {f"p{percent:g}_ms": self.percentile(percent) for percent in PERCENTILES}
        return {
            "sent": self.sent,
            "answered": self.by_status,
            "failed": dict(self.failed),
            "goodput": self.goodput(),
            **times,
            "lasted_s": self.lasted,
            "generator_cpu": self.cpu / self.took if self.took else 0.0,
            "per_second": self.per_second(),
        }
