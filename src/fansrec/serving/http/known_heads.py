"""Heads of requests whose checks are known: clients send nearly the same bytes again; checking them once is enough."""

import re
from typing import NamedTuple

MAX_HEADS = 256
MAX_HEAD_BYTES = 2048
# Headers whose values differ from request to request. Nothing but the trace is made of them, and of the length.
VARYING = re.compile(
    rb"\r\n(content-length|traceparent|x-forwarded-for|x-request-id): "
    rb"([a-z0-9_.:-](?:[a-z0-9_.:, -]{0,254}[a-z0-9_.:-])?)(?=\r\n)",
    re.IGNORECASE,
)
MAX_DIGITS = 8


class Parts(NamedTuple):
    """A complete request: what identifies its head, and the rest."""

    head: bytes  # without the values of VARYING
    values: dict[bytes, bytes]  # of VARYING, without the length
    body: bytes


def parts_of(data: bytes) -> Parts | None:
    """Return the parts of `data` if it is exactly one request with a content length, or None."""
    end = data.find(b"\r\n\r\n", 0, MAX_HEAD_BYTES)
    if end < 0:
        return None
    head = data[: end + 2]
    found = VARYING.findall(head)
    values = {name.lower(): value for name, value in found}
    length = values.pop(b"content-length", b"")
    repeated = len(values) + 1 < len(found)
    if repeated or not length.isdigit() or len(length) > MAX_DIGITS or end + 4 + int(length) != len(data):
        return None
    return Parts(VARYING.sub(rb"\r\n\1: ", head), values, data[end + 4 :])


class KnownHead(NamedTuple):
    """What the checks found in a head."""

    headers: dict[bytes, bytes]  # those that decide about access, which may change
    timeout_s: float


class KnownHeads:
    """The heads that were used last, up to MAX_HEADS.

    A head that is equal to a known one byte by byte, except for the values of VARYING, passes the same checks: the
    parser is not asked again. Nothing that depends on more than the head may be kept here.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, KnownHead] = {}

    def get(self, head: bytes) -> KnownHead | None:
        known = self._known.pop(head, None)
        if known is not None:
            self._known[head] = known  # as the one that was used last
        return known

    def add(self, head: bytes, known: KnownHead) -> None:
        self._known.pop(head, None)
        while len(self._known) >= MAX_HEADS:
            del self._known[next(iter(self._known))]
        self._known[head] = known
