"""Whether the delay in the queue lasts, which is overload, or passes, which is a burst (as in CoDel, RFC 8289)."""

import time
from collections.abc import Callable

INTERVAL_S = 0.5  # a delay that is above the target for this long is standing; below half of it for as long, it is over


class StandingDelay:
    """Follows the delay that requests really see; `target` is the highest one, in seconds, that may last."""

    def __init__(self, target: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._target, self._clock = target, clock
        self._since: float | None = None  # when the delay was first seen on the other side of its threshold
        self.standing = False

    def observe(self, delay: float) -> None:
        """Take note of how long a request waited that leaves the queue now; 0 for an empty queue."""
        crossed = delay < self._target / 2 if self.standing else delay > self._target
        if not crossed:
            self._since = None
            return
        now = self._clock()
        if self._since is None:
            self._since = now
        elif now - self._since >= INTERVAL_S:
            self._change(not self.standing)

    def start(self) -> None:
        """Count the delay as standing from now on, since the queue has grown too fast to wait for an interval."""
        if not self.standing:
            self._change(True)

    def _change(self, standing: bool) -> None:
        self.standing, self._since = standing, None
