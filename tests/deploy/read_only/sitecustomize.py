"""A read-only root file system for Python processes that have this folder in PYTHONPATH.

Only the folders in $WRITABLE may be written to. Any other attempt is noted in $ATTEMPTS and fails as on a read-only
file system.
"""

import errno
import os
import sys
from typing import Any

WRITABLE = tuple(os.path.realpath(folder) for folder in os.environ["WRITABLE"].split(os.pathsep))
DEVICES = ("/dev/null", "/dev/shm", "/proc/self")
ATTEMPTS = os.open(os.environ["ATTEMPTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {  # events of functions that change a folder, and which of their arguments are paths
    "os.mkdir": 1, "os.remove": 1, "os.rmdir": 1, "os.truncate": 1, "os.chmod": 1, "os.chown": 1, "os.utime": 1,
    "os.rename": 2, "os.link": 2, "os.symlink": 2,
}  # fmt: skip


def check(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        paths = arguments[:1] if arguments[2] and arguments[2] & WRITING else ()
    elif event == "socket.bind":
        paths = (arguments[1],)
    elif event == "sqlite3.connect":
        paths = () if "mode=ro" in str(arguments[0]) else arguments[:1]
    else:
        paths = arguments[: CHANGES.get(event, 0)]
        if event in ("os.remove", "os.rmdir") and arguments[1] >= 0:  # the descriptor of the folder, of shutil.rmtree
            paths = (os.path.join(os.readlink(f"/proc/self/fd/{arguments[1]}"), os.fsdecode(paths[0])),)
    for path in paths:
        if isinstance(path, str | bytes | os.PathLike) and not may_write(os.fsdecode(path)):
            os.write(ATTEMPTS, f"{event} {os.fsdecode(path)}\n".encode())
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), os.fsdecode(path))


def may_write(path: str) -> bool:
    folder, name = os.path.split(path)
    real = os.path.join(os.path.realpath(folder), name)
    return path.startswith("\0") or any(real == f or real.startswith(f"{f}/") for f in WRITABLE + DEVICES)


sys.addaudithook(check)
