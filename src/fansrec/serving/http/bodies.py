"""Reading a request's body without ever holding more of it than the limits allow."""

import asyncio
import io
import zlib
from collections.abc import Iterator
from typing import Protocol

from starlette.types import Receive, Scope

from fansrec.serving.http.problems import Problem, cut

SLICE = 2**14  # packed bytes handed to zlib at once: what it leaves over is copied each time
PIECE = 2**18  # unpacked bytes taken at once; between pieces other requests get their turn
GZIP = 16 + zlib.MAX_WBITS  # zlib's word for "gzip, and nothing else"


class BodyLimits(Protocol):
    """What the settings say about bodies."""

    @property
    def max_body_bytes(self) -> int: ...
    @property
    def max_unpacked_bytes(self) -> int: ...
    @property
    def body_timeout_s(self) -> float: ...


class ClientLeft(Exception):
    """The client closed the connection before its request was whole: there is nobody to answer."""


async def read_body(scope: Scope, receive: Receive, limits: BodyLimits) -> bytes:
    """The whole body, unpacked; refused as soon as it is known to be too large, too slow or not what it says."""
    zipped = _is_zipped(scope, limits.max_body_bytes)
    try:
        async with asyncio.timeout(limits.body_timeout_s):
            body = await _received(receive, limits.max_body_bytes)
            return await _unpacked(body, limits.max_unpacked_bytes) if zipped else body
    except TimeoutError:
        detail = f"The body did not arrive within {limits.body_timeout_s:g} s; send it faster or in smaller requests."
        raise Problem(408, "slow-body", detail, headers={"Connection": "close"}) from None


def _is_zipped(scope: Scope, most: int) -> bool:
    """What the headers say of the body: refused here if that is enough to know."""
    encoding = "identity"
    for name, value in scope["headers"]:
        if name == b"content-length":
            _check_length(value, most)
        elif name == b"content-encoding":
            encoding = value.decode("latin-1").strip().lower()
        elif name == b"transfer-encoding" and value.strip().lower() != b"chunked":
            raise Problem(400, "unsupported-transfer", "Send the body with a Content-Length or chunked, nothing else.")
    if encoding not in ("identity", "gzip", "x-gzip"):
        detail = f"Content-Encoding {cut(encoding)!r} is not understood; send the body as it is, or packed by gzip."
        raise Problem(415, "unsupported-encoding", detail, headers={"Accept-Encoding": "gzip, identity"})
    return encoding != "identity"


def _check_length(value: bytes, most: int) -> None:
    if not value.isdigit():
        raise Problem(400, "bad-length", "Content-Length must be a whole number of bytes.")
    digits = value.lstrip(b"0") or b"0"
    if len(digits) > 18 or int(digits) > most:  # Python refuses to read numbers of thousands of digits
        raise _too_large(most)


def _too_large(most: int, how: str = "as sent") -> Problem:
    """What is left of the body is not read, so nothing can follow it on this connection."""
    detail = f"The body is larger than {most} bytes {how}; split the request."
    return Problem(413, "too-large", detail, headers={"Connection": "close"}, limit=most)


async def _received(receive: Receive, most: int) -> bytes:
    body = io.BytesIO()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        piece = message.get("body", b"")
        if body.tell() + len(piece) > most:
            raise _too_large(most)
        body.write(piece)
        if not message.get("more_body", False):
            return body.getvalue()


async def _unpacked(packed: bytes, most: int) -> bytes:
    unpacked = io.BytesIO()
    try:
        for piece in _pieces(packed, most):
            unpacked.write(piece)
            await asyncio.sleep(0)
    except zlib.error:
        raise _broken() from None
    return unpacked.getvalue()


def _pieces(packed: bytes, most: int) -> Iterator[bytes]:
    """The contents of all gzip members, piece by piece; zeros between and after them are padding, as gzip has it."""
    stream, left = zlib.decompressobj(GZIP), most + 1
    for start in range(0, len(packed), SLICE):
        rest = packed[start : start + SLICE]
        while rest:
            if stream.eof:
                rest = rest.lstrip(b"\0")
                if not rest:
                    break
                stream = zlib.decompressobj(GZIP)
            piece = stream.decompress(rest, min(PIECE, left))
            left -= len(piece)
            if not left:
                raise _too_large(most, "unpacked")
            yield piece
            rest = stream.unused_data if stream.eof else stream.unconsumed_tail
    if not stream.eof:
        raise _broken()


def _broken() -> Problem:
    return Problem(400, "broken-gzip", "The body is not whole and sound gzip, as its Content-Encoding says it is.")
