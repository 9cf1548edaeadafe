"""Writes that are on the disk and not yet in the models that are served: they are applied in groups."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from fansrec.errors import FansError
from fansrec.serving.metrics import Metrics
from fansrec.serving.writes.store import WriteStore

log = logging.getLogger("fansrec.serving")

Apply = Callable[[int], Awaitable[list[dict[str, Any]]]]  # gets a number of a write, returns the models that have it

LEAST_PAUSE_SECONDS, MOST_PAUSE_SECONDS = 0.05, 0.2  # between two groups, so that requests have the processor meanwhile
RETRY_SECONDS = 1.0


class LiveUpdates:
    """Calls `apply` whenever there are new writes, once at a time."""

    def __init__(self, store: WriteStore, metrics: Metrics, apply: Apply) -> None:
        self._store, self._metrics, self._apply = store, metrics, apply
        self._wanted = asyncio.Event()
        self._stored: deque[tuple[int, float]] = deque()  # writes that are not visible yet, and when they were stored
        store.on_stored = self._note

    @property
    def last(self) -> int:
        """The number of the newest write that is on the disk."""
        return self._store.last

    async def run(self) -> None:
        """Apply writes as long as the service runs."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            since = time.monotonic()
            try:
                self._observe(await self._apply(self.last))
            except FansError as error:
                log.error("writes are stored, but not visible yet: %s", error)
                self._wanted.set()
                await asyncio.sleep(RETRY_SECONDS)
            await asyncio.sleep(min(max(time.monotonic() - since, LEAST_PAUSE_SECONDS), MOST_PAUSE_SECONDS))

    async def drop_contained(self, models: list[dict[str, Any]], previous: list[dict[str, Any]]) -> None:
        """Remove the writes from the log that all models contained when they were read, if that was asked for.

        Those that `previous`, the models of a rollback, have not applied stay. Model hosts may read the log meanwhile.
        """
        contained = [model["folded"] for model in models if model["seq"] is not None]
        applied = [model["seq"] for model in previous if model["seq"] is not None]
        await asyncio.to_thread(self._store.drop, min(contained + applied) if contained else 0)

    def _note(self, seq: int) -> None:
        self._stored.append((seq, time.monotonic()))
        self._wanted.set()

    def _observe(self, models: list[dict[str, Any]]) -> None:
        """Put into the metrics which writes all workers have now."""
        now, applied = time.monotonic(), [model["seq"] for model in models if model["seq"] is not None]
        while self._stored and self._stored[0][0] <= min(applied, default=0):
            self._metrics.visible_seconds.observe(now - self._stored.popleft()[1])
        for model in models:
            if model["seq"] is not None:
                self._metrics.writes_applied.labels(model["name"]).set(model["seq"])
