"""How fast refusals are sent: a refusal costs about a tenth of a short answer, and clients send again after it."""

import time
from collections.abc import Callable

PER_SECOND = 4000  # about a sixth of a core
MAX_DELAY_S = 1.0  # as long as refusals tell clients to wait
AT_ONCE_S = 0.01  # delays below this are not worth a timer


class RefusalPace:
    """Spaces refusals out, at most PER_SECOND, so that refusing leaves time for answering.

    About 40 in one moment are sent at once, further ones of that moment wait for their turn, at most MAX_DELAY_S.
    A client with a limited number of connections then sends no more than the service can refuse cheaply.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0  # moment of the next refusal

    def delay(self) -> float:
        """Return after how many seconds the next refusal is to be sent; 0 for at once."""
        now = self._clock()
        self._next = max(now, min(self._next + 1 / PER_SECOND, now + MAX_DELAY_S))
        delay = self._next - now
        return delay if delay > AT_ONCE_S else 0.0
