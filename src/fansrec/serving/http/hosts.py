"""By which names a service may be called: the Host header of a request.

A page elsewhere may have its own name point here (DNS rebinding), and a browser then lets it read the answers. Its
requests still carry that name, so a service that needs no key answers only to names that are its own.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address

from fansrec.serving.http.problems import Problem

ANY = "*"
LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|\[::1\]")
WRITTEN = re.compile(rb"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(:\d{1,5})?")
NAME = re.compile(r"[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?|\[[0-9a-f:.]{2,45}\]")


class Hosts:
    """The names that are answered to: loopback, `names`, and with `addresses` every IP address.

    An address cannot be made to point here by anyone else, so it is safe where the service is reached by address.
    """

    def __init__(self, names: Iterable[str] = (), addresses: bool = False) -> None:
        self._names = frozenset(name.lower() for name in names)
        self._addresses = addresses

    def check(self, given: list[bytes]) -> None:
        """Raise the problem for a request that calls the service by another name, by none, or by several."""
        if ANY in self._names:
            return
        written = WRITTEN.fullmatch(given[0]) if len(given) == 1 else None
        if written is None or not self._is_own(written[1].decode().lower()):
            raise _wrong_host()

    def _is_own(self, name: str) -> bool:
        return LOOPBACK.fullmatch(name) is not None or name in self._names or (self._addresses and is_address(name))


def is_address(name: str) -> bool:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def is_host_name(text: str) -> bool:
    """Whether the text can stand in `allowed_hosts`: a name or an address without a port, or `*` for any."""
    return text == ANY or NAME.fullmatch(text.lower()) is not None


def _wrong_host() -> Problem:
    detail = "This service does not answer to that host name: call it by localhost or one of its `allowed_hosts`."
    return Problem(421, "wrong-host", detail)
