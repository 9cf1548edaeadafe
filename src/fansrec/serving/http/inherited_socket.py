"""A listening socket that systemd opened for the service (`deploy/fans.socket`).

With it the service needs no network of its own: it answers on connections that it accepts, and can open none.
"""

import socket
from collections.abc import MutableMapping

from fansrec.errors import BadSetting

FIRST = 3  # the descriptor of the first socket that systemd passes


def inherited_socket(environment: MutableMapping[str, str], pid: int, host: str, port: int) -> socket.socket | None:
    """Return the socket passed to process `pid` by `environment`, or None where there is none.

    It must listen on `host` and `port`: what the settings say about who can reach the service has to stay true.
    """
    given = {name: environment.pop(name, "") for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")}
    if given["LISTEN_PID"] != str(pid):
        return None
    if given["LISTEN_FDS"] != "1":
        raise BadSetting(f"{given['LISTEN_FDS']} sockets were passed; give the socket unit one ListenStream line")
    try:
        listening = socket.socket(fileno=FIRST)
        listening.set_inheritable(False)
        accepting = listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        expected = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise BadSetting(f"the passed socket cannot be used ({error}); check the socket unit") from error
    address = listening.getsockname()
    if not accepting or listening.family != expected[0] or (address[0], address[1]) != (expected[4][0], port):
        raise BadSetting(
            f"the passed socket is not one that listens on {host}:{port} (it has {address}); "
            f"make ListenStream of the socket unit agree with host and port of the settings"
        )
    return listening
