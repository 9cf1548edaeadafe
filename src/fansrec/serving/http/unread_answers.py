"""Answers that clients have not read yet: their total size, and which clients are disconnected if it is too large."""

import time
from collections.abc import Callable
from typing import Protocol

FRESH_S = 1.0  # connections whose answer is younger than this are closed last, since no client could have read it yet


class Connection(Protocol):
    """A connection with an answer that its client has not read."""

    def unsent_bytes(self) -> int: ...
    def disconnect(self) -> None: ...


class UnreadAnswers:
    """The unsent bytes of all connections, kept below `limit` by closing the connections that read slowest.

    Refusing new requests instead would let a few clients that never read block all others. One answer is always kept,
    however large.
    """

    def __init__(
        self, limit: int, clock: Callable[[], float] = time.monotonic, on_close: Callable[[], None] = lambda: None
    ) -> None:
        self.limit = limit
        self._clock = clock
        self._on_close = on_close
        self._held: dict[Connection, tuple[int, float]] = {}  # bytes when the client stopped reading, and when that was

    @property
    def size(self) -> int:
        """Bytes in memory; an answer stays there completely until the last byte is sent."""
        return sum(size for size, _ in self._held.values())

    def add(self, connection: Connection) -> None:
        self._held[connection] = connection.unsent_bytes(), self._clock()

    def remove(self, connection: Connection) -> None:
        self._held.pop(connection, None)

    def make_room(self) -> None:
        """Close connections until the rest is below the limit."""
        while self.size > self.limit and len(self._held) > 1:
            slowest = min(self._held, key=self._speed)
            del self._held[slowest]
            slowest.disconnect()
            self._on_close()

    def _speed(self, connection: Connection) -> tuple[bool, float, float]:
        """Return a sort key: fresh answers last, the others by bytes read per second, then by age."""
        size, since = self._held[connection]
        age = self._clock() - since
        return age < FRESH_S, (size - connection.unsent_bytes()) / max(age, FRESH_S), since
