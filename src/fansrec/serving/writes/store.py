"""The log of writes of a running service: changes are on the disk when `store` returns."""

import logging
import time
from collections.abc import Callable
from typing import Any

from pydantic_core import to_json

from fansrec.errors import BadSetting, FansError
from fansrec.files import format_os_error, read_json
from fansrec.serving.metrics import Metrics
from fansrec.serving.settings import Settings
from fansrec.serving.writes.log import open_log
from fansrec.serving.writes.writer import Limits, LogWriter

log = logging.getLogger("fansrec.serving")

FILE = "writes.log"  # in the folder of the writes
IDLE_SECONDS = 1.0  # without a write, before a mark says that all are synchronized
DROP_FILE = "drop.json"  # beside it: which writes may be removed as soon as the models that are served contain them


def open_store(settings: Settings, metrics: Metrics) -> "WriteStore":
    """Return the store of a service; raise BadSetting if its log cannot be written."""
    assert settings.writes is not None
    try:
        return WriteStore(settings, metrics)
    except OSError as error:
        raise BadSetting(
            f"writes cannot be stored in {settings.writes} ({format_os_error(error)}); free space, or correct --writes"
        ) from error


class WriteStore:
    """Appends the changes of each request as one record to the log in a folder that no other process writes.

    `on_stored` is called with the number of the newest record that is on the disk.
    """

    def __init__(self, settings: Settings, metrics: Metrics, clock: Callable[[], float] = time.time) -> None:
        assert settings.writes is not None
        self._metrics, self._clock, self._folder = metrics, clock, settings.writes
        self.on_stored: Callable[[int], None] = lambda seq: None
        limits = Limits(log_bytes=settings.writes_bytes)
        self._writer = LogWriter(open_log(settings.writes / FILE), limits, self._synchronized, IDLE_SECONDS)
        metrics.log_bytes.set_function(lambda: self._writer.log.size)
        metrics.log_limit_bytes.set(settings.writes_bytes)

    @property
    def last(self) -> int:
        """The number of the newest record that is on the disk."""
        return self._writer.log.last

    async def store(self, changes: bytes) -> int:
        """Store the changes of a request, a JSON array, as one record and return its number.

        Raise a Problem if that fails.
        """
        return await self._writer.append(b'{"time":%s,"changes":%s}' % (to_json(round(self._clock(), 3)), changes))

    def describe(self) -> dict[str, Any]:
        """Return what `GET /v1/models` answers about the log."""
        stored, limit = self._writer.log, self._writer.limits.log_bytes
        return {"seq": stored.last, "log": stored.id, "bytes": stored.size, "limit_bytes": limit}

    def drop(self, contained: int) -> None:
        """Remove the writes up to number `contained` from the log, as far as `fans compact` has asked for it."""
        request = self._folder / DROP_FILE
        if not request.is_file():
            return
        try:
            wanted = read_json(request)
            if wanted["log"] == self._writer.log.id:
                self._drop(min(int(wanted["seq"]), contained))
            if wanted["seq"] <= contained:
                request.unlink()
        except (OSError, FansError, ArithmeticError, ValueError, KeyError, TypeError) as error:
            log.error("the log of writes was not compacted: %s", error)

    def _drop(self, after: int) -> None:
        with self._writer.lock:
            stored = self._writer.log
            before = stored.after
            stored.drop(after)
        if stored.after > before:
            log.info("the log of writes has lost those up to number %d, which the models contain", stored.after)

    def close(self) -> None:
        self._writer.close()

    def _synchronized(self, records: int, seconds: float) -> None:
        self._metrics.sync_seconds.observe(seconds)
        self.on_stored(self.last)
