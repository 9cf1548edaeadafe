"""Access control: which key opens which route."""

from collections.abc import Iterable, Mapping

from fansrec.serving.http.key_ring import KeyRing
from fansrec.serving.http.keys import Entry, Role
from fansrec.serving.http.problems import Problem
from fansrec.serving.http.routes import Access, access_level

ALLOWED: dict[Role, frozenset[Access]] = {
    "use": frozenset((Access.USE,)),
    "write": frozenset((Access.USE, Access.WRITE)),
    "metrics": frozenset((Access.METRICS,)),
    "admin": frozenset((Access.USE, Access.WRITE, Access.METRICS, Access.ADMIN)),
}
NOT_ALLOWED = {
    Access.USE: "This key does not allow this; use another one (`fans keys add`).",
    Access.WRITE: "This key does not allow this; use a write or admin key (`fans keys add --write`).",
    Access.METRICS: "This key does not allow this; use a metrics or admin key (`fans keys add --metrics`).",
    Access.ADMIN: "This key does not allow this; use an admin key (`fans keys add --admin`).",
}
KEY_ALWAYS = {Access.WRITE: "a write", Access.ADMIN: "an admin"}
CHALLENGE = 'Bearer realm="fansrec"'

# If one of these is repeated, a proxy before the service may have used the other one.
SINGLE = frozenset((b"authorization", b"content-encoding", b"content-type", b"fans-timeout-ms", b"host", b"x-api-key"))


def refuse_repeated(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Raise a Problem for a request that repeats one of the headers that must be single."""
    names = [name for name, _ in headers if name in SINGLE]
    if len({*names}) < len(names):
        repeated = next(name for name in names if names.count(name) > 1).decode().title()
        raise Problem(400, "repeated-header", f"The header {repeated} was sent more than once; send it once.")


def check_key(route: str, method: str, headers: Mapping[bytes, bytes], keys: KeyRing | None) -> Entry | None:
    """Return the entry of the key that opens the route, None where no key is needed; raise a Problem otherwise."""
    level = access_level(route, method)
    if keys is None:
        if level in KEY_ALWAYS:
            detail = f"This needs {KEY_ALWAYS[level]} key, and the service has no keys: start it with --keys."
            raise Problem(403, f"no-{level.name.lower()}", detail)
        return None
    if level is Access.OPEN:
        return None
    key = _key(headers)
    if key is None:
        challenge = {"WWW-Authenticate": CHALLENGE}
        raise Problem(401, "no-key", "Send a key: `Authorization: Bearer KEY`.", headers=challenge)
    entry = keys.entry_of(key)
    if entry is None:
        detail = "The service does not know this key; ask its operator for a new one."
        challenge = {"WWW-Authenticate": f'{CHALLENGE}, error="invalid_token"'}
        raise Problem(401, "wrong-key", detail, headers=challenge)
    if level not in ALLOWED[entry.role]:
        raise Problem(403, f"not-{level.name.lower()}", NOT_ALLOWED[level])
    return entry


def _key(headers: Mapping[bytes, bytes]) -> str | None:
    scheme, _, key = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer":
        return key.strip().decode("latin-1")
    plain = headers.get(b"x-api-key")
    return None if plain is None else plain.decode("latin-1")
