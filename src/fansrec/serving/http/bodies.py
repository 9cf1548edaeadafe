"""Reading the body of a request without holding more of it in memory than the limits allow."""

import asyncio
import io
import zlib
from collections.abc import Iterator

from starlette.types import Receive, Scope

from fansrec.serving.http.problems import Problem, cut
from fansrec.serving.settings import Settings

SLICE = 2**14  # compressed bytes passed to zlib at once: what it leaves over is copied each time
PIECE = 2**18  # decompressed bytes taken at once; between pieces other requests get their turn
GZIP = 16 + zlib.MAX_WBITS  # zlib's parameter for gzip and nothing else


class ClientDisconnected(Exception):
    """The client closed the connection before its request was complete, so there is no client to answer."""


async def read_body(scope: Scope, receive: Receive, limits: Settings) -> bytes:
    """Return the decompressed body; raise a Problem as soon as it is known to be too large, too slow or not valid."""
    zipped = _is_zipped(scope, limits.max_body_bytes)
    try:
        async with asyncio.timeout(limits.body_timeout_s):
            body = await _receive_all(receive, limits.max_body_bytes)
            return await _decompress(body, limits.max_unpacked_bytes) if zipped else body
    except TimeoutError:
        detail = f"The body did not arrive within {limits.body_timeout_s:g} s; send it faster or in smaller requests."
        raise Problem(408, "slow-body", detail, headers={"Connection": "close"}) from None


def declared_length(scope: Scope, limit: int) -> int:
    """Return the length that the headers declare, at most `limit`; `limit` where they declare none that is valid."""
    values = [value for name, value in scope["headers"] if name == b"content-length"]
    return min(limit, int(values[0])) if values and values[0].isdigit() and len(values[0]) < 19 else limit


def _is_zipped(scope: Scope, limit: int) -> bool:
    """Return whether the body is compressed by gzip; raise a Problem if its headers are enough to refuse it."""
    encoding = "identity"
    for name, value in scope["headers"]:
        if name == b"content-length":
            _check_length(value, limit)
        elif name == b"content-encoding":
            encoding = value.decode("latin-1").strip().lower()
        elif name == b"transfer-encoding" and value.strip().lower() != b"chunked":
            raise unsupported_transfer()
    if encoding not in ("identity", "gzip", "x-gzip"):
        detail = f"Content-Encoding {cut(encoding)!r} is not supported; send the body uncompressed or as gzip."
        raise Problem(415, "unsupported-encoding", detail, headers={"Accept-Encoding": "gzip, identity"})
    return encoding != "identity"


def unsupported_transfer() -> Problem:
    detail = "Send the body with a Content-Length or with chunked transfer encoding, nothing else."
    return Problem(400, "unsupported-transfer", detail)


def _check_length(value: bytes, limit: int) -> None:
    if not value.isdigit():
        raise Problem(400, "bad-length", "Content-Length must be a whole number of bytes.")
    digits = value.lstrip(b"0") or b"0"
    if len(digits) > 18 or int(digits) > limit:  # Python refuses to parse numbers of thousands of digits
        raise _too_large(limit)


def _too_large(limit: int, state: str = "as sent") -> Problem:
    """Return the problem; the rest of the body is not read, so the connection cannot be used again."""
    detail = f"The body is larger than {limit} bytes {state}; split the request."
    return Problem(413, "too-large", detail, headers={"Connection": "close"}, limit=limit)


async def _receive_all(receive: Receive, limit: int) -> bytes:
    body = io.BytesIO()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        piece = message.get("body", b"")
        if body.tell() + len(piece) > limit:
            raise _too_large(limit)
        body.write(piece)
        if not message.get("more_body", False):
            return body.getvalue()


async def _decompress(compressed: bytes, limit: int) -> bytes:
    body = io.BytesIO()
    try:
        for piece in _pieces(compressed, limit):
            body.write(piece)
            await asyncio.sleep(0)
    except zlib.error:
        raise _broken_gzip() from None
    return body.getvalue()


def _pieces(compressed: bytes, limit: int) -> Iterator[bytes]:
    """Yield the contents of all gzip members piece by piece; zeros between and after members are padding."""
    stream, left = zlib.decompressobj(GZIP), limit + 1
    for start in range(0, len(compressed), SLICE):
        rest = compressed[start : start + SLICE]
        while rest:
            if stream.eof:
                rest = rest.lstrip(b"\0")
                if not rest:
                    break
                stream = zlib.decompressobj(GZIP)
            piece = stream.decompress(rest, min(PIECE, left))
            left -= len(piece)
            if not left:
                raise _too_large(limit, "unpacked")
            yield piece
            rest = stream.unused_data if stream.eof else stream.unconsumed_tail
    if not stream.eof:
        raise _broken_gzip()


def _broken_gzip() -> Problem:
    return Problem(400, "broken-gzip", "The body is not complete and valid gzip, as its Content-Encoding declares.")
