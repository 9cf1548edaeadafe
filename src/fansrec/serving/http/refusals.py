"""Refusals as bytes: those of a connection, and those at overload, which must cost as little work as possible."""

import re
from collections.abc import Iterable
from functools import cache

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from fansrec.serving.http.problems import Problem
from fansrec.serving.http.tracing import new_id

# Headers that need more than the plain answer, or more reading.
SPECIAL = re.compile(
    rb"\n(?:transfer-encoding|expect|upgrade|origin|traceparent|x-request-id)\s*:|\nconnection:(?!\s*keep-alive\s*\r)"
)
LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,8})[ \t]*\r")

Header = tuple[bytes, bytes]


def is_complete_request(data: bytes, request_line: bytes) -> bool:
    """Return whether the bytes are exactly one request with this first line and without special headers."""
    end = data.find(b"\r\n\r\n")
    if end < 0 or not data.startswith(request_line):
        return False
    head = data[: end + 2].lower()
    lengths = LENGTH.findall(head)
    if len(lengths) != 1 or head.count(b"content-length") != 1 or SPECIAL.search(head):
        return False
    return end + 4 + int(lengths[0]) == len(data)


def refusal_bytes(problem: Problem, default_headers: Iterable[Header]) -> bytes:
    """Return the complete answer to a request that never reached the application; the connection closes after it."""
    return _answer(problem, new_id(), default_headers, [(b"connection", b"close")])


def overload_bytes(problem: Problem) -> bytes:
    """Return the complete answer to a request at overload; only the request id differs between two uses."""
    return new_id().encode().join(_parts(problem))


@cache
def _parts(problem: Problem) -> list[bytes]:
    placeholder = new_id()
    return _answer(problem, placeholder).split(placeholder.encode())


def _answer(problem: Problem, request_id: str, before: Iterable[Header] = (), after: Iterable[Header] = ()) -> bytes:
    body = problem.body(request_id)
    own = [(b"x-request-id", request_id.encode()), (b"x-content-type-options", b"nosniff")]
    headers = [*before, *problem.raw_headers(len(body)), *own, *after]
    lines = [b"%s: %s\r\n" % header for header in headers]
    return b"".join([STATUS_LINE[problem.status], *lines, b"\r\n", body])
