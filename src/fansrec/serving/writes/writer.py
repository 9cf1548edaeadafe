"""Group commit: records that arrive while the disk is busy are written and synchronized together, by one thread."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from fansrec.serving.http.problems import Problem
from fansrec.serving.writes.log import Log, NotStored

log = logging.getLogger("fansrec.serving")

MIB = 1 << 20
LINE_BYTES = 64  # of a line besides its content


@dataclass(frozen=True)
class Limits:
    """How much a log takes."""

    log_bytes: int = 1024 * MIB
    record_bytes: int = 4 * MIB
    pending_bytes: int = 16 * MIB  # of records that wait for the disk


@dataclass
class Counts:
    """What a writer has done, for metrics."""

    records: int = 0
    syncs: int = 0
    refused: dict[str, int] = field(default_factory=dict)  # by kind of problem


class LogWriter:
    """Writes the records of an event loop to a log.

    `on_sync(records, seconds)` is called in the loop after each synchronization of records. After `idle_s` seconds
    without a record, and when it is closed, the log gets a mark for its last records; None: never.
    """

    def __init__(
        self,
        log: Log,
        limits: Limits,
        on_sync: Callable[[int, float], None] = lambda records, seconds: None,
        idle_s: float | None = None,
    ) -> None:
        self.log, self.limits, self.counts = log, limits, Counts()
        self._on_sync, self._idle_s = on_sync, idle_s
        self._pending: list[tuple[bytes, asyncio.Future[int]]] = []
        self._pending_bytes = 0
        self._wanted = threading.Condition()
        self._closing = False
        self.lock = threading.Lock()  # held while the log is written or replaced
        self._thread = threading.Thread(target=self._run, name="fans-log", daemon=True)
        self._thread.start()

    async def append(self, content: bytes) -> int:
        """Return the number of a record, a JSON object with at least one member, once it is on the disk.

        Raise a Problem if it cannot be stored; then it is not in the log.
        """
        self._check_size(len(content) + LINE_BYTES)
        stored = asyncio.get_running_loop().create_future()
        with self._wanted:
            if self._closing:
                raise self._refused(503, "stopping", "The service is stopping; send the request again.", retry_after=1)
            self._pending.append((content, stored))
            self._pending_bytes += len(content) + LINE_BYTES
            self._wanted.notify()
        # A client that disconnects must not cancel what is being written.
        return int(await asyncio.shield(stored))

    def close(self) -> None:
        """Write what is pending, then close the log."""
        with self._wanted:
            self._closing = True
            self._wanted.notify()
        self._thread.join()
        with self.lock:
            self.log.close()

    def _check_size(self, size: int) -> None:
        limits = self.limits
        if size > limits.record_bytes:
            detail = f"The write has {size:,} bytes, more than {limits.record_bytes:,}; send it in several requests."
            raise self._refused(413, "too-large", detail, limit=limits.record_bytes)
        if self.log.size + self._pending_bytes + size > limits.log_bytes:
            detail = f"The log has reached its limit of {limits.log_bytes:,} bytes; ask the operator to compact it."
            raise self._refused(507, "log-full", detail, limit=limits.log_bytes)
        if self._pending_bytes + size > limits.pending_bytes:
            detail = "The service has as many writes as it can store; try again in a second."
            raise self._refused(429, "overload", detail, retry_after=1)

    def _refused(self, status: int, kind: str, detail: str, **members: Any) -> Problem:
        self.counts.refused[kind] = self.counts.refused.get(kind, 0) + 1
        return Problem(status, kind, detail, **members)

    def _run(self) -> None:
        closing = False
        while not closing:
            with self._wanted:
                timeout = self._idle_s if self.log.needs_mark else None
                self._wanted.wait_for(lambda: self._pending or self._closing, timeout)
                batch, self._pending = self._pending, []
                closing = self._closing
            if batch:
                self._store(batch)
            if self._idle_s is not None and (closing or not batch):
                self._mark()

    def _mark(self) -> None:
        with self.lock, suppress(NotStored):  # nothing is lost without a mark, and the next write has the same problem
            self.log.mark_synced()

    def _store(self, batch: list[tuple[bytes, "asyncio.Future[int]"]]) -> None:
        since, first, problem = time.perf_counter(), 0, None
        try:
            with self.lock:
                first = self.log.append([content for content, _ in batch])
        except NotStored as error:
            log.error("%d writes were refused: %s", len(batch), error)
            problem = str(error)
        except Exception as error:  # a bug must not leave requests without an answer
            log.exception("%d writes failed", len(batch))
            problem = f"the write could not be stored ({type(error).__name__}); the log of the service says why"
        seconds = time.perf_counter() - since
        loop = batch[0][1].get_loop()
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._answer, batch, first, problem, seconds)

    def _answer(
        self, batch: list[tuple[bytes, "asyncio.Future[int]"]], first: int, problem: str | None, seconds: float
    ) -> None:
        """Answer the requests of a batch; runs in the event loop."""
        self._pending_bytes -= sum(len(content) + LINE_BYTES for content, _ in batch)
        if problem is None:
            self.counts.records += len(batch)
            self.counts.syncs += 1
            self._on_sync(len(batch), seconds)
        for number, (_, stored) in enumerate(batch, first):
            if stored.done():
                continue
            if problem is None:
                stored.set_result(number)
            else:
                stored.set_exception(self._refused(507, "not-stored", problem))
                stored.exception()  # marks it as retrieved, even if its client has left
