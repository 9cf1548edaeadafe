"""Frames between the front and its processes: sizes, a line of JSON, and the bytes that belong to it."""

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any, cast

from pydantic_core import from_json, to_json

SIZES = struct.Struct("!II")

Message = dict[str, Any]


def packed(message: Message, content: bytes = b"") -> bytes:
    line = to_json(message)
    return SIZES.pack(len(line), len(content)) + line + content


def receive(connection: socket.socket) -> tuple[Message, bytes] | None:
    """The next frame, waited for; None when the other side has gone."""
    sizes = _exactly(connection, SIZES.size)
    if sizes is None:
        return None
    line_size, content_size = SIZES.unpack(sizes)
    rest = _exactly(connection, line_size + content_size)
    return None if rest is None else (from_json(rest[:line_size]), bytes(rest[line_size:]))


def _exactly(connection: socket.socket, size: int) -> bytearray | None:
    content, place = bytearray(size), 0
    view = memoryview(content)
    while place < size:
        try:
            got = connection.recv_into(view[place:])
        except ConnectionError:
            return None
        if got == 0:
            return None
        place += got
    return content


class Line(asyncio.Protocol):
    """The front's end of a connection to one of its processes."""

    def __init__(self, opened: Callable[["Line"], None]) -> None:
        self._opened = opened
        self._buffer = bytearray()
        self.heard: Callable[[Message, bytes], None] = lambda message, content: None
        self.gone: Callable[[], None] = lambda: None
        self.open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)
        self.open = True
        self._opened(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= SIZES.size:
            line, content = SIZES.unpack_from(self._buffer)
            start, end = SIZES.size + line, SIZES.size + line + content
            if len(self._buffer) < end:
                return
            frame = bytes(self._buffer[:end])
            del self._buffer[:end]
            self.heard(from_json(frame[SIZES.size : start]), frame[start:])

    def connection_lost(self, error: Exception | None) -> None:
        self.open = False
        self.gone()

    def send(self, message: Message, content: bytes = b"") -> None:
        if self.open:
            self._transport.write(packed(message, content))

    def close(self) -> None:
        if self.open:
            self._transport.close()
