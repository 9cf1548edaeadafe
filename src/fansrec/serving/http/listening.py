"""Close a listening socket without resetting connections: the kernel resets all that nobody has accepted."""

import ctypes
import socket
import struct
import sys

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


def drop_new_connections(listening: socket.socket) -> bool:
    """Make the kernel drop the first packet of every new connection; those under way can still be accepted.

    A client that is dropped tries again after a second, and is then refused by the closed port or answered by another
    service. Return False, and change nothing, where the system cannot do it or allows it to root only.
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
