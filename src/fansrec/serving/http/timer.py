"""A timer of a connection."""

import asyncio
from collections.abc import Callable
from typing import Any


class Timer:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None

    @property
    def running(self) -> bool:
        return self._handle is not None

    def start(self, seconds: float, callback: Callable[..., None], *arguments: Any) -> None:
        """Call `callback` after `seconds`, unless the timer runs already."""
        if self._handle is None:
            self._handle = self._loop.call_later(seconds, self._fire, callback, arguments)

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _fire(self, callback: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self._handle = None
        callback(*arguments)
