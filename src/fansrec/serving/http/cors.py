"""Cross-origin requests: which pages of other origins may call the service."""

from collections.abc import Mapping

PREFLIGHT_HEADERS = [
    (b"access-control-allow-methods", b"GET, POST"),
    (
        b"access-control-allow-headers",
        b"authorization, content-encoding, content-type, fans-timeout-ms, "
        b"traceparent, tracestate, x-api-key, x-request-id",
    ),
    (b"access-control-max-age", b"600"),
    (b"content-length", b"0"),
]
EXPOSED = (b"access-control-expose-headers", b"x-request-id, traceparent, retry-after")


def is_preflight(method: str, headers: Mapping[bytes, bytes]) -> bool:
    return method == "OPTIONS" and b"access-control-request-method" in headers


def cors_headers(headers: Mapping[bytes, bytes], origins: frozenset[bytes]) -> list[tuple[bytes, bytes]]:
    """Return the headers that let a page of one of `origins` read the answer; a page of another origin gets none."""
    if not origins:
        return []
    origin = headers.get(b"origin")
    if origin not in origins:
        return [(b"vary", b"Origin")]
    return [(b"access-control-allow-origin", origin), EXPOSED, (b"vary", b"Origin")]
