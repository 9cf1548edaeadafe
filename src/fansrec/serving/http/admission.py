"""Who may come in: keys, and pages of other origins."""

from collections.abc import Iterable, Mapping
from enum import Enum

from fansrec.serving.http.key_ring import KeyRing
from fansrec.serving.http.keys import Holder, Role
from fansrec.serving.http.problems import Problem


class Access(Enum):
    OPEN = 0  # for everyone: the page's files and what machines ask about health
    USE = 1  # a key, where keys are asked for
    METRICS = 2  # a metrics or admin key, where keys are asked for
    ADMIN = 3  # an admin key, always


# All there is. A path that is not here counts as "other", so that nobody can make labels in logs and metrics,
# and wants a key like the rest of the service: what is open is listed, not what is closed.
ROUTES = {
    "/": Access.OPEN,
    "/health/live": Access.OPEN,
    "/health/ready": Access.OPEN,
    "/openapi.json": Access.OPEN,
    "/metrics": Access.METRICS,
    "/v1/continue": Access.USE,
    "/v1/items": Access.USE,
    "/v1/models": Access.USE,
    "/v1/models/reload": Access.ADMIN,
    "/v1/models/rollback": Access.ADMIN,
}
STATIC, OTHER = "/static/*", "other"
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))

ALLOWED: dict[Role, frozenset[Access]] = {
    "use": frozenset((Access.USE,)),
    "metrics": frozenset((Access.METRICS,)),
    "admin": frozenset((Access.USE, Access.METRICS, Access.ADMIN)),
}
REFUSED = {
    Access.USE: "This key does not open this; use another one (`fans keys add`).",
    Access.METRICS: "This key does not open this; use a metrics or admin key (`fans keys add --metrics`).",
    Access.ADMIN: "This key does not open this; use an admin key (`fans keys add --admin`).",
}
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

# Of two of these, a proxy before the service may have looked at the other one.
ONCE = frozenset((b"authorization", b"content-encoding", b"content-type", b"fans-timeout-ms", b"host", b"x-api-key"))

Given = Mapping[bytes, bytes]  # the few headers that decide


def route_of(path: str) -> str:
    if path in ROUTES:
        return path
    return STATIC if path.startswith("/static/") else OTHER


def refuse_repeated(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Raise the problem for a request that has one of the headers that decide more than once."""
    names = [name for name, _ in headers if name in ONCE]
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1).decode().title()
        raise Problem(400, "repeated-header", f"The header {twice} came more than once; send it once.")


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
    if need not in ALLOWED[holder.role]:
        raise Problem(403, f"not-{need.name.lower()}", REFUSED[need])
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
