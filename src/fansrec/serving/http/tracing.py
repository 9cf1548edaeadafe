"""The identity of a request: an id for people, and the W3C trace context for tracing systems."""

import os
import re
from typing import NamedTuple

PLAIN_ID = re.compile(rb"[A-Za-z0-9._:-]{1,64}")  # short and plain, since it appears in a header and in logs
TRACEPARENT = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
MAX_STATE = 512


class Trace(NamedTuple):
    request_id: str
    trace_id: str
    span_id: str
    flags: str  # whether the caller records this trace, passed on unchanged
    state: bytes | None  # data of other tracing systems, passed on unchanged

    def headers(self) -> list[tuple[bytes, bytes]]:
        headers = [
            (b"x-request-id", self.request_id.encode()),
            (b"traceparent", f"00-{self.trace_id}-{self.span_id}-{self.flags}".encode()),
        ]
        return headers if self.state is None else headers + [(b"tracestate", self.state)]


def new_id() -> str:
    return os.urandom(8).hex()


def trace_of(request_id: bytes | None, traceparent: bytes | None, tracestate: bytes | None) -> Trace:
    """Continue the caller's trace, or begin a new one where there is none or its header is not valid."""
    span_id = new_id()
    usable = request_id is not None and PLAIN_ID.fullmatch(request_id)
    name = request_id.decode() if request_id is not None and usable else span_id
    parent = TRACEPARENT.fullmatch(traceparent) if traceparent is not None else None
    if parent is None or not _is_valid(parent):
        return Trace(name, os.urandom(16).hex(), span_id, "00", None)
    state = tracestate if tracestate and len(tracestate) <= MAX_STATE and _is_printable(tracestate) else None
    return Trace(name, parent[2].decode(), span_id, parent[4].decode(), state)


def _is_valid(parent: re.Match[bytes]) -> bool:
    """Ids of zeros and version ff are not allowed, and version 00 has no fifth part."""
    version, trace, span, _, rest = parent.groups()
    return version != b"ff" and trace.strip(b"0") != b"" and span.strip(b"0") != b"" and not (version == b"00" and rest)


def _is_printable(text: bytes) -> bool:
    return text.isascii() and text.decode("ascii").isprintable()
