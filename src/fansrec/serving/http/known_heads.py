"""Heads of requests that have passed every check: clients send the same bytes again; one check is enough."""

import re
from typing import NamedTuple

MAX_HEADS = 256
MAX_HEAD_BYTES = 2048
LENGTH = re.compile(rb"\r\n[Cc]ontent-[Ll]ength: ([0-9]{1,8})\r\n")


class Parts(NamedTuple):
    """A complete request: what identifies its head, and its body."""

    head: bytes  # without the digits of the content length
    body: bytes


def parts_of(data: bytes) -> Parts | None:
    """Return the parts of `data` if it is exactly one request with a content length, or None."""
    end = data.find(b"\r\n\r\n", 0, MAX_HEAD_BYTES)
    length = LENGTH.search(data, 0, end + 2) if end > 0 else None
    if length is None or end + 4 + int(length[1]) != len(data):
        return None
    return Parts(data[: length.start(1)] + data[length.end(1) : end], data[end + 4 :])


class KnownHead(NamedTuple):
    """What the checks found in a head."""

    headers: dict[bytes, bytes]  # those that decide about access, which may change
    timeout_s: float


class KnownHeads:
    """The newest heads, up to MAX_HEADS.

    A head that is equal to a known one byte by byte, but for the digits of the content length, passes the same checks:
    the parser is not asked again. Nothing that depends on more than the head may be kept here.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, KnownHead] = {}

    def get(self, head: bytes) -> KnownHead | None:
        return self._known.get(head)

    def add(self, head: bytes, known: KnownHead) -> None:
        while len(self._known) >= MAX_HEADS:
            del self._known[next(iter(self._known))]
        self._known[head] = known
