"""Closing a connection so that the last answer still arrives, and so that it does end."""

import asyncio
from typing import Any

LINGER_S = 1.0  # how long the rest of an unwanted request is read and dropped
FLUSH_S = 10.0  # how long a client has to fetch the last answer


class PoliteTransport:
    """A transport that, with `linger`, shuts its own side first and goes on reading for a moment.

    A socket closed with unread bytes is reset by the kernel, and an answer that is still on its way is lost with it:
    a client that sends its whole body before it reads would see a broken connection in place of a 413.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._head = b""  # of an answer whose body has not come yet
        self.linger = False  # whether the client is in the middle of a request
        self.closing = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """An answer's head waits for its body, which comes at once as a rule: one call of the system instead of two."""
        if self.closing:
            return
        if data.startswith(b"HTTP/1.") and not self._head:
            self._head = data
            self._loop.call_soon(self.flush)
        else:
            self._transport.write(self._head + data)
            self._head = b""

    def write_whole(self, answer: bytes) -> None:
        """An answer of which head and body are at hand."""
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
            self._timer = self._loop.call_later(LINGER_S, self.end)
        else:
            self.end()

    def end(self) -> None:
        """Really close; a client that does not fetch what is left is cut off."""
        self.flush()
        self.closing = True
        self.forget()
        self._transport.close()
        if self._transport.get_write_buffer_size():
            self._timer = self._loop.call_later(FLUSH_S, self._transport.abort)

    def forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
