"""Answers that clients have not read yet: how much of them a process holds, and who is cut off when it is too much."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

FRESH_S = 1.0  # whose answer is younger than this is cut off last: nobody could have read it yet


class Connection(Protocol):
    """A connection with an answer that its client has not read."""

    def unsent_bytes(self) -> int: ...
    def cut_off(self) -> None: ...


@dataclass
class Held:
    """What a connection had to send when its client stopped reading, and when that was."""

    size: int
    since: float


class Unsent:
    """The unsent bytes of all connections, kept below `most` by closing those that read slowest.

    Refusing new requests instead would let a few clients that never read keep everyone else out. One answer is
    always kept, however large.
    """

    def __init__(
        self, most: int, clock: Callable[[], float] = time.monotonic, closed: Callable[[], None] = lambda: None
    ) -> None:
        self.most = most
        self._clock = clock
        self._closed = closed
        self._held: dict[Connection, Held] = {}

    @property
    def size(self) -> int:
        """Bytes in memory; an answer stays there as a whole until the last of it is sent."""
        return sum(held.size for held in self._held.values())

    def add(self, connection: Connection) -> None:
        self._held[connection] = Held(connection.unsent_bytes(), self._clock())

    def remove(self, connection: Connection) -> None:
        self._held.pop(connection, None)

    def make_room(self) -> None:
        """Close connections until the rest fits."""
        while self.size > self.most and len(self._held) > 1:
            slowest = min(self._held, key=self._pace)
            del self._held[slowest]
            slowest.cut_off()
            self._closed()

    def _pace(self, connection: Connection) -> tuple[bool, float, float]:
        """Sort fresh ones last, the others by bytes read in a second, and those alike by age."""
        held = self._held[connection]
        age = self._clock() - held.since
        return age < FRESH_S, (held.size - connection.unsent_bytes()) / max(age, FRESH_S), held.since
