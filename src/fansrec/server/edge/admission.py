"""Who may come in: hosts, keys, and pages of other origins."""

import re
from collections.abc import Mapping
from enum import IntEnum

from fansrec.server.edge.keys import Holder, KeyRing
from fansrec.server.edge.problems import Problem


class Access(IntEnum):
    OPEN = 0  # for everyone: the page's files and what machines ask about health
    USE = 1  # a key, where keys are asked for
    ADMIN = 2  # an admin key, always


# All there is. A path that is not here counts as "other", so that nobody can make labels in logs and metrics,
# and wants a key like the rest of the service: what is open is listed, not what is closed.
ROUTES = {
    "/": Access.OPEN,
    "/health/live": Access.OPEN,
    "/health/ready": Access.OPEN,
    "/openapi.json": Access.OPEN,
    "/metrics": Access.USE,
    "/v1/continue": Access.USE,
    "/v1/items": Access.USE,
    "/v1/models": Access.USE,
    "/v1/models/reload": Access.ADMIN,
    "/v1/models/rollback": Access.ADMIN,
}
STATIC, OTHER = "/static/*", "other"
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))

LOOPBACK = re.compile(rb"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?", re.IGNORECASE)
CORS_ANSWER = [
    (b"access-control-allow-methods", b"GET, POST"),
    (
        b"access-control-allow-headers",
        b"authorization, content-encoding, content-type, fans-timeout-ms, "
        b"traceparent, tracestate, x-api-key, x-request-id",
    ),
    (b"access-control-max-age", b"600"),
    (b"content-length", b"0"),
]
CORS_EXPOSED = (b"access-control-expose-headers", b"x-request-id, traceparent, retry-after")

Given = Mapping[bytes, bytes]  # the few headers that decide


def route_of(path: str) -> str:
    if path in ROUTES:
        return path
    return STATIC if path.startswith("/static/") else OTHER


def check_host(hosts: list[bytes]) -> None:
    """A page elsewhere may have its name point here (DNS rebinding): its requests still carry that name."""
    if len(hosts) != 1 or not LOOPBACK.fullmatch(hosts[0]):
        detail = (
            "This service answers on this machine only: call it by localhost or 127.0.0.1, or start it with --keys."
        )
        raise Problem(421, "wrong-host", detail)


def check_key(route: str, given: Given, keys: KeyRing | None) -> Holder | None:
    """Whose key opens the route; None where none is needed."""
    need = Access.OPEN if route == STATIC else ROUTES.get(route, Access.USE)
    if keys is None:
        if need is Access.ADMIN:
            raise Problem(
                403, "no-admin", "Only an admin key opens this, and the service has none: start it with --keys."
            )
        return None
    if need is Access.OPEN:
        return None
    key = _key(given)
    holder = keys.holder_of(key) if key is not None else None
    if holder is None:
        raise _unauthorized(key is not None)
    if need is Access.ADMIN and holder.role != "admin":
        raise Problem(403, "not-admin", "This key does not open this; use an admin key (`fans keys add --admin`).")
    return holder


def _key(given: Given) -> str | None:
    scheme, _, key = given.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer":
        return key.strip().decode("latin-1")
    plain = given.get(b"x-api-key")
    return None if plain is None else plain.decode("latin-1")


def _unauthorized(sent: bool) -> Problem:
    asked = 'Bearer realm="fansrec"'
    if not sent:
        return Problem(401, "no-key", "Send a key: `Authorization: Bearer KEY`.", headers={"WWW-Authenticate": asked})
    headers = {"WWW-Authenticate": f'{asked}, error="invalid_token"'}
    return Problem(401, "wrong-key", "This key is not known here; ask for a new one.", headers=headers)


def is_preflight(method: str, given: Given) -> bool:
    return method == "OPTIONS" and b"access-control-request-method" in given


def cors_headers(given: Given, origins: frozenset[bytes]) -> list[tuple[bytes, bytes]]:
    """Leave for a page of an origin that was named at the start to read the answer; for all others nothing."""
    if not origins:
        return []
    origin = given.get(b"origin")
    if origin not in origins:
        return [(b"vary", b"Origin")]
    return [(b"access-control-allow-origin", origin), CORS_EXPOSED, (b"vary", b"Origin")]
