"""Refusing at overload with as little work as can be: whoever refuses slowly has no time left to answer."""

import re

from fansrec.serving.http.problems import Problem
from fansrec.serving.http.tracing import new_id

# What asks for more than the plain answer, or for reading on.
SPECIAL = re.compile(
    rb"\n(?:transfer-encoding|expect|upgrade|origin|traceparent|x-request-id)\s*:|\nconnection:(?!\s*keep-alive\s*\r)"
)
LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,8})[ \t]*\r")


def is_whole_request(data: bytes, beginning: bytes) -> bool:
    """Whether the bytes are exactly one request of this first line, with nothing in it that needs a closer look."""
    end = data.find(b"\r\n\r\n")
    if end < 0 or not data.startswith(beginning):
        return False
    head = data[: end + 2].lower()
    lengths = LENGTH.findall(head)
    if len(lengths) != 1 or head.count(b"content-length") != 1 or SPECIAL.search(head):
        return False
    return end + 4 + int(lengths[0]) == len(data)


class Refusal:
    """A problem as the bytes of a whole answer; only the request's id differs from one to the next."""

    def __init__(self, problem: Problem) -> None:
        mark = new_id()
        body = problem.body(mark)
        own = [(b"x-request-id", mark.encode()), (b"x-content-type-options", b"nosniff")]
        lines = [b"%s: %s\r\n" % header for header in [*problem.raw_headers(len(body)), *own]]
        answer = b"HTTP/1.1 %d %s\r\n" % (problem.status, b"Too Many Requests") + b"".join(lines) + b"\r\n" + body
        self._parts = answer.split(mark.encode())

    def bytes(self) -> bytes:
        return new_id().encode().join(self._parts)
