"""The channel between the front and one of its processes: frames of two sizes, one line of JSON and some bytes."""

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any, cast

from pydantic_core import from_json, to_json

from fansrec.serving.processes.jobs import pack_jobs

SIZES = struct.Struct("!II")
SUPERVISOR, MODEL_HOST, WORKER = "supervisor", "model host", "worker"  # kinds of processes, in their first message

APPLY = "apply"  # kind of the message that has a model host apply writes to its models
HEARTBEAT = "heartbeat"  # kind of the messages that a model host sends meanwhile

Message = dict[str, Any]


def pack(message: Message, content: bytes = b"") -> bytes:
    """Return the frame that carries a message and the bytes that belong to it."""
    line = to_json(message)
    return SIZES.pack(len(line), len(content)) + line + content


def receive(connection: socket.socket) -> Message | None:
    """Wait for the next message of the front; return None when it has closed the connection."""
    frame = receive_frame(connection)
    return None if frame is None else frame[0]


def receive_frame(connection: socket.socket) -> tuple[Message, bytes] | None:
    """Wait for the next message of the front and the bytes that belong to it; None: it has closed the connection."""
    sizes = _receive_exactly(connection, SIZES.size)
    line_size, content_size = (0, 0) if sizes is None else SIZES.unpack(sizes)
    line = _receive_exactly(connection, line_size)
    content = _receive_exactly(connection, content_size)
    return None if not line or content is None else (from_json(line), content)


def _receive_exactly(connection: socket.socket, size: int) -> bytes | None:
    content, received = bytearray(size), 0
    view = memoryview(content)
    while received < size:
        try:
            count = connection.recv_into(view[received:])
        except ConnectionError:
            return None
        if count == 0:
            return None
        received += count
    return bytes(content)


class Channel(asyncio.Protocol):
    """The front's end of a connection to one of its processes; the owner sets `on_message` and `on_close`."""

    def __init__(self, on_open: Callable[["Channel"], None]) -> None:
        self._on_open = on_open
        self._buffer = bytearray()
        self.on_message: Callable[[Message, bytes], None] = lambda message, content: None
        self.on_close: Callable[[], None] = lambda: None
        self.open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)
        self.open = True
        self._on_open(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= SIZES.size:
            line, content = SIZES.unpack_from(self._buffer)
            start, end = SIZES.size + line, SIZES.size + line + content
            if len(self._buffer) < end:
                return
            frame = bytes(self._buffer[:end])
            del self._buffer[:end]
            self.on_message(from_json(frame[SIZES.size : start]), frame[start:])

    def connection_lost(self, error: Exception | None) -> None:
        self.open = False
        self.on_close()

    def send(self, message: Message, content: bytes = b"") -> None:
        if not self.open:
            return
        if "jobs" in message:
            jobs, content = pack_jobs(message["jobs"])
            message = message | {"jobs": jobs}
        self._transport.write(pack(message, content))

    def close(self) -> None:
        if self.open:
            self._transport.close()
