"""A timer that wakes the event loop with microsecond precision; asyncio's own timers have milliseconds."""

import ctypes
import os
from collections.abc import Callable
from typing import Any

MONOTONIC, NONBLOCK, CLOSE_ON_EXEC, ABSOLUTE = 1, 0o4000, 0o2000000, 1


class _Times(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_long) for name in ("every_s", "every_ns", "at_s", "at_ns"))


class Ticker:
    """A Linux timerfd that calls `due` at given moments, in seconds of `time.monotonic()`."""

    def __init__(self, loop: Any, due: Callable[[], None]) -> None:
        self._loop, self._due = loop, due
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._file = self._libc.timerfd_create(MONOTONIC, NONBLOCK | CLOSE_ON_EXEC)
        if self._file < 0:
            raise OSError(ctypes.get_errno(), "a timer cannot be created")
        loop.add_reader(self._file, self._fired)

    def at(self, moment: float) -> None:
        nanoseconds = max(1, int(moment * 1e9))
        times = _Times(0, 0, nanoseconds // 10**9, nanoseconds % 10**9)
        self._libc.timerfd_settime(self._file, ABSOLUTE, ctypes.byref(times), None)

    def _fired(self) -> None:
        try:
            os.read(self._file, 8)
        except BlockingIOError:
            return
        self._due()

    def close(self) -> None:
        self._loop.remove_reader(self._file)
        os.close(self._file)
