"""The event log of a running service: events are on the disk when `store` returns."""

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path

from pydantic_core import to_json

from fansrec.errors import BadSetting
from fansrec.files import format_os_error
from fansrec.serving.events.segments import SEGMENTS, open_newest, start_segment
from fansrec.serving.http.problems import Problem
from fansrec.serving.writes.writer import Limits, LogWriter

log = logging.getLogger("fansrec.serving")

NO_LIMIT = 1 << 62  # of a segment: the next one is started before it matters


def open_events(folder: Path, max_bytes: int) -> "EventStore":
    """Return the store of a service; raise BadSetting if its folder cannot be written."""
    try:
        return EventStore(folder, max_bytes)
    except OSError as error:
        raise BadSetting(
            f"events cannot be stored in {folder} ({format_os_error(error)}); free space, or correct --writes"
        ) from error


class EventStore:
    """Appends records of events to the newest segment in a folder that no other process writes."""

    def __init__(self, folder: Path, max_bytes: int, clock: Callable[[], float] = time.time) -> None:
        folder.mkdir(exist_ok=True, mode=0o700)
        self._folder, self._max_bytes, self._clock = folder, max_bytes, clock
        self._writer = LogWriter(open_newest(folder), Limits(log_bytes=NO_LIMIT))
        self._starting = asyncio.Lock()

    async def store(self, events: bytes, batch: str | None) -> None:
        """Store the events of a request, a JSON array, as one record; raise a Problem if that is not possible."""
        if self._is_full:
            async with self._starting:
                if self._is_full:
                    await asyncio.to_thread(self._start_segment)
        head = to_json({"received": round(self._clock(), 3)} | ({"batch": batch} if batch else {}))
        await self._writer.append(b'%s,"events":%s}' % (head[:-1], events))

    def close(self) -> None:
        self._writer.close()

    @property
    def _is_full(self) -> bool:
        return self._writer.log.size >= self._max_bytes // SEGMENTS

    def _start_segment(self) -> None:
        with self._writer.lock:
            old = self._writer.log
            try:
                self._writer.log = start_segment(self._folder, old.last, self._max_bytes)
            except OSError as error:
                log.error("events are refused: %s", format_os_error(error))
                detail = f"the events could not be stored ({error.strerror}); free space, then send them again"
                raise Problem(507, "not-stored", detail) from error
            old.close()
