"""The host names of the service: which Host headers it answers to.

A page elsewhere may let its own name point to this machine (DNS rebinding), and a browser then lets it read the
answers. Its requests still carry that name, so a service without keys answers only to its own names.
"""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address

from fansrec.serving.http.problems import Problem

ANY = "*"
LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|\[::1\]")
HOST_HEADER = re.compile(rb"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(:\d{1,5})?")
NAME = re.compile(r"[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?|\[[0-9a-f:.]{2,45}\]")


class Hosts:
    """Host names that are answered to: loopback, `names`, and with `addresses` every IP address.

    An IP address cannot be made to point here by others, so it is safe where the service is reached by address.
    """

    def __init__(self, names: Iterable[str] = (), addresses: bool = False) -> None:
        self._names = frozenset(name.lower() for name in names)
        self._addresses = addresses

    def check(self, given: list[bytes]) -> None:
        """Raise a Problem unless `given`, the Host headers of a request, is one name of the service."""
        if ANY in self._names:
            return
        match = HOST_HEADER.fullmatch(given[0]) if len(given) == 1 else None
        if match is None or not self._is_own(match[1].decode().lower()):
            detail = "The service does not answer to this host name; use localhost or one of its `allowed_hosts`."
            raise Problem(421, "wrong-host", detail)

    def _is_own(self, name: str) -> bool:
        is_address = self._addresses and parse_address(name) is not None
        return LOOPBACK.fullmatch(name) is not None or name in self._names or is_address


def parse_address(name: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address, which may be in brackets; None for a name."""
    try:
        return ip_address(name.strip("[]"))
    except ValueError:
        return None


def is_host_name(text: str) -> bool:
    """Return whether `allowed_hosts` may contain the text: a name or an address without a port, or `*` for any."""
    return text == ANY or NAME.fullmatch(text.lower()) is not None
