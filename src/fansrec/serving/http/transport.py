"""A transport that closes a connection so that the last answer still arrives, and within a limited time."""

import asyncio
from typing import Any

from fansrec.serving.http.sockets import close_sending_side, has_unread_bytes
from fansrec.serving.http.timer import Timer

LINGER_S = 1.0  # how long the rest of a refused request is read and dropped
FLUSH_S = 10.0  # how long a client has to read the last answer


class LingeringTransport:
    """A transport that, with `linger`, first closes its sending side and continues to read for a moment.

    The kernel resets a socket that is closed with unread bytes, and an answer that is still on its way is lost with it:
    a client that sends its whole body before it reads would see a broken connection instead of a 413.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._timer = Timer(loop)
        self._head = b""  # of an answer whose body has not been written yet
        self.linger = False  # whether the client is in the middle of a request
        self.closing = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write data; the head of an answer waits for its body, which saves a system call."""
        if self.closing:
            return
        if data.startswith(b"HTTP/1.") and not self._head:
            self._head = data
            self._loop.call_soon(self.flush)
        else:
            self._transport.write(self._head + data)
            self._head = b""

    def write_complete(self, answer: bytes) -> None:
        """Write an answer that has head and body."""
        self.flush()
        self._transport.write(answer)

    def flush(self) -> None:
        if self._head and not self._transport.is_closing():
            self._transport.write(self._head)
        self._head = b""

    def is_closing(self) -> bool:
        return self.closing or self._transport.is_closing()

    def close(self) -> None:
        if self.closing:
            return
        self.flush()
        self.closing = True
        if self.linger and self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.resume_reading()
            self._transport.write_eof()
            self._timer.start(LINGER_S, self.close_now)
        else:
            self.close_now()

    def close_idle(self) -> bool:
        """Close a connection on which no request is expected; return False if one has arrived that was not read yet.

        The event loop may be late, so a timer may end while the next request waits in the socket's buffer. A client
        learns of the end at once and not in the next round of the loop, in which it could send a request in vain.
        """
        if self.is_closing():
            return True
        descriptor = self._transport.get_extra_info("socket").fileno()
        if has_unread_bytes(descriptor):
            return False
        if not self._transport.get_write_buffer_size():
            close_sending_side(descriptor)
        self.close_now()
        return True

    def close_now(self) -> None:
        """Close without lingering; abort if the client does not read the rest in time."""
        self.flush()
        self.closing = True
        self._timer.cancel()
        self._transport.close()
        if self._transport.get_write_buffer_size():
            self._timer.start(FLUSH_S, self._transport.abort)

    def cancel_timer(self) -> None:
        self._timer.cancel()
