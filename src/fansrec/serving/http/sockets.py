"""Sockets: the listening one, bound here or opened by systemd, and the state of those of connections."""

import ctypes
import fcntl
import socket
import struct
import sys
import termios
from collections.abc import MutableMapping

from fansrec.errors import BadSetting
from fansrec.files import format_os_error

FIRST = 3  # the descriptor of the first socket that systemd passes
SO_ATTACH_FILTER = 26  # of Linux; Python has no name for it
FLAGS_OFFSET, SYN, SYN_OR_ACK = 13, 0x02, 0x12  # of the TCP header
LOAD_BYTE, AND, JUMP_IF_EQUAL, RETURN = 0x30, 0x54, 0x15, 0x06  # classic BPF
ALL_BYTES = 0xFFFFFFFF
DROP_NEW_CONNECTIONS = (  # (operation, instructions to skip if true, and if false, operand)
    (LOAD_BYTE, 0, 0, FLAGS_OFFSET),
    (AND, 0, 0, SYN_OR_ACK),
    (JUMP_IF_EQUAL, 0, 1, SYN),
    (RETURN, 0, 0, 0),
    (RETURN, 0, 0, ALL_BYTES),
)


def bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, proto)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        raise BadSetting(
            f"cannot listen on {host}:{port} ({format_os_error(error)}); choose another --host or --port"
        ) from error
    return listening


def url_of(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def inherited_socket(environment: MutableMapping[str, str], pid: int, host: str, port: int) -> socket.socket | None:
    """Return the socket passed to process `pid` by `environment`, or None where there is none.

    It must listen on `host` and `port`: what the settings say about who can reach the service has to stay true. With a
    socket of systemd (`deploy/fans.socket`) the service needs no network of its own and can open no connections.
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


def drop_new_connections(listening: socket.socket) -> bool:
    """Make the kernel drop the first packet of every new connection; those under way can still be accepted.

    To be called before the socket is closed, which resets all connections that nobody has accepted. A client that is
    dropped tries again after a second, and is then refused by the closed port or answered by another service.
    Return False, and change nothing, where the system cannot do it or allows it to root only.
    """
    if sys.platform != "linux":
        return False
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in DROP_NEW_CONNECTIONS))
    attached = struct.pack("HP", len(DROP_NEW_CONNECTIONS), ctypes.addressof(program))
    try:
        listening.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, attached)
    except OSError:
        return False
    return True


def has_unread_bytes(descriptor: int) -> bool:
    """Return whether bytes have arrived at a socket that the process has not read."""
    return any(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(struct.calcsize("i"))))


def close_sending_side(descriptor: int) -> None:
    """Send the end of a connection at once; event loops send it in their next round."""
    connection = socket.socket(fileno=descriptor)
    try:
        connection.shutdown(socket.SHUT_WR)
    except OSError:  # the client has closed it already
        pass
    finally:
        connection.detach()
