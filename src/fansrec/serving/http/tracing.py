"""Which request it is: an id for people, and the W3C trace context for tracing systems."""

import os
import re
from typing import NamedTuple

PLAIN_ID = re.compile(rb"[A-Za-z0-9._:-]{1,64}")  # short and plain: it comes back in a header and stands in logs
TRACEPARENT = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
LONGEST_STATE = 512


class Trace(NamedTuple):
    request_id: str
    trace_id: str
    span_id: str
    flags: str  # whether the caller records this trace, passed on as it came
    state: bytes | None  # what other tracing systems noted; never looked into

    def headers(self) -> list[tuple[bytes, bytes]]:
        headers = [
            (b"x-request-id", self.request_id.encode()),
            (b"traceparent", f"00-{self.trace_id}-{self.span_id}-{self.flags}".encode()),
        ]
        return headers if self.state is None else headers + [(b"tracestate", self.state)]


def new_id() -> str:
    return os.urandom(8).hex()


def trace_of(request_id: bytes | None, traceparent: bytes | None, tracestate: bytes | None) -> Trace:
    """The caller's trace gone on with, or a new one where there is none or it is not as the standard has it."""
    span_id = new_id()
    named = request_id is not None and PLAIN_ID.fullmatch(request_id)
    name = request_id.decode() if request_id is not None and named else span_id
    came = TRACEPARENT.fullmatch(traceparent) if traceparent is not None else None
    if came is None or not _sound(came):
        return Trace(name, os.urandom(16).hex(), span_id, "00", None)
    state = tracestate if tracestate and len(tracestate) <= LONGEST_STATE and _printable(tracestate) else None
    return Trace(name, came[2].decode(), span_id, came[4].decode(), state)


def _sound(came: re.Match[bytes]) -> bool:
    """Zeros mean nothing, ff is no version, and the first version has no fifth part."""
    version, trace, span, _, rest = came.groups()
    return version != b"ff" and trace.strip(b"0") != b"" and span.strip(b"0") != b"" and not (version == b"00" and rest)


def _printable(text: bytes) -> bool:
    return text.isascii() and text.decode("ascii").isprintable()
