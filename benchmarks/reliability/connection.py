"""A keep-alive connection of the load generator, with as little work per request as possible."""

import asyncio
import re
import select
from collections.abc import Callable
from typing import cast

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
LAST = re.compile(rb"\r\nconnection: *close\r\n", re.IGNORECASE)
END = b"\r\n\r\n"

Ended = Callable[["Connection", int, bytes, str | None], None]  # status and body, or the kind of failure


class Connection(asyncio.Protocol):
    """Calls `ended` once for every request and accepts the next one after that."""

    def __init__(self, ended: Ended, lost: Callable[["Connection"], None]) -> None:
        self._ended, self._lost = ended, lost
        self.open, self.busy = False, False
        self.number, self.start, self.asked_at = 0, 0.0, 0.0
        self._head, self._chunks, self._missing = b"", cast(list[bytes], []), 0

    def ask(self, number: int, start: float, now: float, request: bytes) -> None:
        """Send request `number`, which was due at `start`."""
        self.number, self.start, self.asked_at, self.busy = number, start, now, True
        self.transport.write(request)

    def has_ended(self) -> bool:
        """Return whether the service has closed this idle connection, even if the event loop has not noticed it yet.

        HTTP clients look before they use an open connection again, since a service closes idle ones after some time.
        """
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not self.open or bool(poll.poll(0))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.open = cast(asyncio.Transport, transport), True

    def data_received(self, data: bytes) -> None:
        if self._missing:  # the head is complete, the body arrives in pieces
            self._chunks.append(data)
            self._missing -= len(data)
            if self._missing <= 0:
                self._finish(self._head, b"".join(self._chunks))
            return
        data = self._head + data
        end = data.find(END)
        if end < 0:
            self._head = data
            return
        head = data[: end + 4]
        length = LENGTH.search(head)
        if not self.busy or length is None or not head.startswith(b"HTTP/1.1 "):
            self._broken("not an answer" if self.busy else "not requested")
            return
        missing = int(length[1]) - (len(data) - end - 4)
        if missing > 0:
            self._head, self._chunks, self._missing = head, [data[end + 4 :]], missing
        else:
            self._finish(head, data[end + 4 :])

    def _finish(self, head: bytes, body: bytes) -> None:
        self.busy, self._head, self._missing = False, b"", 0
        self._chunks.clear()
        if LAST.search(head):
            self.open = False
            self.transport.close()
        self._ended(self, int(head[9:12]), body, None)

    def _broken(self, kind: str) -> None:
        was_busy, self.busy, self.open = self.busy, False, False
        self.transport.abort()
        if was_busy:
            self._ended(self, 0, b"", kind)

    def give_up(self) -> None:
        """Abort the connection because the answer takes too long."""
        self._broken("timeout")

    def connection_lost(self, error: Exception | None) -> None:
        was_busy, self.open, self.busy = self.busy, False, False
        self._lost(self)
        if was_busy:
            self._ended(self, 0, b"", "cut" if self._head or self._missing else "closed")
