"""The sizes of a request that are not the size of its body: headers, framing of chunks, and bytes that are dropped."""

from fansrec.serving.http.problems import Problem
from fansrec.serving.settings import Settings

MAX_DROPPED_BODIES = 16  # times the largest body that is read and dropped, for clients that read only after sending


class MessageSize:
    """Counts the bytes of one request; a method raises a Problem when its limit is exceeded."""

    def __init__(self, limits: Settings) -> None:
        self._limits = limits
        self.reset()

    def reset(self) -> None:
        """Begin to count the next request."""
        self._headers = self._unparsed = self._dropped = 0
        self._framing = 0  # all that is neither body nor the usual framing of its chunks

    def add_headers(self, size: int) -> None:
        """Count bytes of the URL and of headers."""
        self._headers += size
        if self._headers > self._limits.max_header_bytes:
            raise self._headers_too_large()

    def add_unparsed(self, size: int) -> None:
        """Count bytes of headers that the parser keeps to itself, such as a single endless header."""
        self._unparsed += size
        if self._unparsed > self._limits.max_header_bytes:
            raise self._headers_too_large()

    def add_received(self, size: int) -> None:
        """Count bytes of this request; never below 0, or many small chunks would allow large extensions."""
        self._framing = max(0, self._framing + size)

    def subtract(self, size: int) -> None:
        """Do not count bytes of the body or the usual framing of a chunk."""
        self._framing -= size

    def check_framing(self) -> None:
        limit = self._limits.max_header_bytes
        if self._framing - self._headers > limit:
            detail = f"The framing of the body (chunk extensions, spaces) is larger than {limit} bytes; leave it out."
            raise Problem(431, "framing-too-large", detail, limit=limit)

    def drop(self, size: int) -> bool:
        """Count bytes that are dropped; return whether they are too many."""
        self._dropped += size
        return self._dropped > MAX_DROPPED_BODIES * self._limits.max_body_bytes

    def _headers_too_large(self) -> Problem:
        limit = self._limits.max_header_bytes
        return Problem(431, "headers-too-large", f"The headers are larger than {limit} bytes; send less.", limit=limit)
