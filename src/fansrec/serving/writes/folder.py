"""The folder of a service that takes writes: one service at a time holds its lock."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fansrec.errors import BadSetting
from fansrec.files import format_os_error
from fansrec.serving.http.problems import Problem

WAIT_SECONDS = 2.0  # for a service that was killed and has not quite ended
POLL_SECONDS = 0.05


def writes_are_off() -> Problem:
    """Return the problem for a write to a service that was started without `--writes`."""
    return Problem(404, "no-writes", "This service accepts no writes; its operator starts it with --writes FOLDER.")


def no_model_takes_writes() -> Problem:
    """Return the problem for a write to a service none of whose models can be updated."""
    detail = "None of the models of this service can be updated; its operator serves one with a list memory."
    return Problem(409, "not-updatable", detail)


@contextmanager
def locked_folder(folder: Path | None, wait_s: float = WAIT_SECONDS) -> Iterator[None]:
    """Create the folder of `--writes` if needed, and hold its lock; do nothing without a folder.

    The system releases the lock when the process ends, however it ends; processes that it starts do not inherit it.
    """
    if folder is None:
        yield
        return
    opened = _open(folder)
    try:
        _lock(opened, folder, time.monotonic() + wait_s)
        yield
    finally:
        os.close(opened)


def is_locked(folder: Path) -> bool:
    """Return whether a service, or another process, holds the lock of a folder."""
    opened = _open(folder)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(opened)
    return False


def _open(folder: Path) -> int:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise BadSetting(
            f"the folder of --writes cannot be used ({format_os_error(error)}); give a folder that this user may write"
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        os.close(opened)
        raise BadSetting(f"the folder of --writes, {folder}, cannot be written by this user; change its owner")
    return opened


def _lock(opened: int, folder: Path, end: float) -> None:
    while True:
        try:
            return fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise BadSetting(
                    f"another service already writes to {folder}; stop it, or give this one another folder with "
                    f"--writes, since two services cannot share one"
                ) from None
            time.sleep(POLL_SECONDS)
        except OSError as error:
            raise BadSetting(
                f"{folder} cannot be locked ({format_os_error(error)}); give a folder on a disk of this machine"
            ) from error
