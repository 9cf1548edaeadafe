"""Reports events to the service in the background, so that no page waits for it."""

import asyncio
import logging
import secrets
from collections import deque
from datetime import UTC, datetime
from typing import Any

import fansrec
from fansrec.client import Unavailable

PAUSE_S = 2.0  # events of this time are sent together
TIMEOUT_S = 10.0
PER_REQUEST = 1000  # the service's limit, `max_events`
MAX_WAITING = 100_000  # while the service is down; then the oldest are dropped

logger = logging.getLogger("uvicorn.error")


class Reporter:
    """The events that the service has not stored yet."""

    def __init__(self, client: fansrec.AsyncClient) -> None:
        self._client = client
        self._waiting: deque[dict[str, Any]] = deque(maxlen=MAX_WAITING)
        self._batch: list[dict[str, Any]] = []  # taken from `_waiting`, and perhaps already sent
        self._key = ""

    def add(self, **event: Any) -> None:
        """Keep an event for the next request; its time is now, not that of its arrival."""
        self._waiting.append({name: value for name, value in event.items() if value is not None})
        self._waiting[-1]["time"] = datetime.now(UTC)

    async def run(self) -> None:
        """Send events until the task is canceled."""
        while True:
            await asyncio.sleep(PAUSE_S)
            await self.flush()

    async def flush(self) -> None:
        """Send all events, unless the service is down: then they wait for the next time."""
        while self._batch or self._waiting:
            if not self._batch:
                # A batch keeps its key and its events until it is stored. If only the answer of the service was lost,
                # the service recognizes the key, and the events count once.
                self._key = secrets.token_hex(16)
                self._batch = [self._waiting.popleft() for _ in range(min(PER_REQUEST, len(self._waiting)))]
            try:
                await self._client.send_events(self._batch, batch=self._key, timeout=TIMEOUT_S)
            except Unavailable as error:
                logger.warning("%d events wait: %s", len(self._batch) + len(self._waiting), error)
                return
            except fansrec.FansError as error:  # refused: it would be refused again
                logger.error("%d events are dropped: %s", len(self._batch), error)
            self._batch = []
