"""An HTTP/1.1 load generator that needs little processor time and accounts for every request.

    python -m benchmarks.reliability.load http://127.0.0.1:8080/v1/continue --body BODIES.jsonl --connections 8
    python -m benchmarks.reliability.load http://127.0.0.1:8080/v1/continue --body BODIES.jsonl --rate 500

Without a rate, each connection sends again as soon as it is answered (closed loop). With a rate, requests are due at
fixed moments, whether or not the service keeps up, and latency counts from there (open loop): a service that stalls
cannot hide it by receiving fewer requests. It never retries. BODIES.jsonl has one request body per line; they are sent
in turn.
"""

import argparse
import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import uvloop
from benchmarks.reliability.connection import Connection
from benchmarks.reliability.encoding import encoded
from benchmarks.reliability.tally import Tally
from benchmarks.reliability.ticker import Ticker

PAUSE_AFTER_FAILURE = 0.01  # seconds before the next request of a connection
CHECKED_AFTER = 0.1  # seconds after which an idle connection is checked before it is used again
TIMEOUT_CHECK = 0.2  # seconds between two checks for answers that take too long
Check = Callable[[int, int, bytes], str | None]  # number of the request, status and body -> what is wrong, or None


@dataclass(frozen=True)
class Load:
    """The requests to send (in turn), and how fast."""

    port: int
    requests: Sequence[bytes]
    seconds: float
    rate: float | None = None  # requests per second; None: each connection sends when it is answered
    connections: int = 8  # with a rate: maximum number
    poisson: bool = True  # random arrivals, or evenly spaced ones
    timeout: float = 30.0  # seconds for an answer
    most: int = 1 << 62  # maximum number of requests
    host: str = "127.0.0.1"
    seed: int = 0


async def run(load: Load, check: Check | None = None) -> Tally:
    return await Generator(load, check).run()


def run_here(load: Load, check: Check | None = None) -> Tally:
    """Run a load in this process, on its own event loop."""
    return uvloop.run(run(load, check))


class Generator:
    """Runs one load once."""

    def __init__(self, load: Load, check: Check | None = None) -> None:
        self.load, self.check, self.tally = load, check, Tally()
        self._loop, self._now = asyncio.get_running_loop(), time.monotonic
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._waiting: deque[tuple[int, float]] = deque()  # requests without a connection
        self._offsets: deque[float] = deque()  # with a rate: after how many seconds the next requests are due
        self._over, self._done = False, asyncio.Event()

    async def run(self) -> Tally:
        """Send until the time is over or `stop` is called, wait for all answers, and return the tally."""
        self._offsets = self._draw_offsets()  # before the clock runs: millions of them take half a second
        worked, self._began = time.process_time(), self._now()
        self._end = self._loop.call_later(self.load.seconds, self.stop)
        self._timeout_check = self._loop.call_later(TIMEOUT_CHECK, self._check_timeouts)
        ticker = self._keep_rate() if self._offsets else None
        if ticker is None:
            for _ in range(self.load.connections):
                self._again()
        await self._done.wait()
        self._timeout_check.cancel()
        if ticker is not None:
            ticker.close()
        for connection in tuple(self._all):
            connection.transport.abort()
        self.tally.notes = dict(getattr(self.check, "notes", {}))
        self.tally.took, self.tally.cpu = self._now() - self._began, time.process_time() - worked
        return self.tally

    def stop(self) -> None:
        """Stop sending; wait for the answers of requests that were sent."""
        if not self._over:
            self._over, self.tally.lasted = True, self._now() - self._began
            self._end.cancel()
            self._end_if_done()

    def _draw_offsets(self) -> deque[float]:
        """Return after how many seconds each request is due; none without a rate."""
        if not self.load.rate:
            return deque()
        rate, random = self.load.rate, np.random.default_rng(self.load.seed)
        count = min(self.load.most, int(self.load.seconds * rate * 1.1) + 100)
        gaps = random.exponential(1 / rate, count) if self.load.poisson else np.full(count, 1 / rate)
        return deque(np.cumsum(gaps).tolist())

    def _keep_rate(self) -> Ticker:
        """Return the ticker that sends requests when they are due."""
        ticker = Ticker(self._loop, lambda: self._begin_due(ticker))
        ticker.at(self._began + self._offsets[0])
        return ticker

    def _begin_due(self, ticker: Ticker) -> None:
        passed, offsets = self._now() - self._began, self._offsets
        while offsets and offsets[0] <= passed and not self._over:
            self._begin(self._began + offsets.popleft())
        if not offsets:
            self.stop()
        elif not self._over:
            ticker.at(self._began + offsets[0])

    def _again(self) -> None:
        """Send the next request of a connection that was answered."""
        if self.tally.sent >= self.load.most:
            self.stop()
        elif not self._over:
            self._begin(self._now())

    def _begin(self, start: float) -> None:
        self._waiting.append((self.tally.sent, start))
        self.tally.sent += 1
        self._match()

    def _match(self) -> None:
        """Give waiting requests to idle connections, or open more connections."""
        while self._waiting and self._idle:
            connection = self._idle.pop()
            if connection.open and not (self._now() - connection.asked_at > CHECKED_AFTER and connection.has_ended()):
                number, start = self._waiting.popleft()
                request = self.load.requests[number % len(self.load.requests)]
                connection.ask(number, start, self._now(), request)
        room = self.load.connections - len(self._all) - len(self._opening)
        for _ in range(min(room, len(self._waiting) - len(self._opening))):
            task = self._loop.create_task(self._open())
            self._opening.add(task)

    async def _open(self) -> None:
        """Open a connection; if that fails, the request that has waited longest has failed."""
        make = self._loop.create_connection(self._connection, self.load.host, self.load.port)
        kind = None
        try:
            _, connection = await asyncio.wait_for(make, self.load.timeout)
            self._all.add(connection)
            self._idle.append(connection)
        except ConnectionRefusedError:
            kind = "refused"
        except (OSError, TimeoutError):
            kind = "not connected"
        task = asyncio.current_task()
        assert task is not None
        self._opening.discard(task)
        if kind is not None and self._waiting:
            number, start = self._waiting.popleft()
            self._ended_as(number, start, 0, b"", kind)
        self._match()

    def _connection(self) -> Connection:
        return Connection(self._ended, self._all.discard)

    def _ended(self, connection: Connection, status: int, body: bytes, kind: str | None) -> None:
        if connection.open:
            self._idle.append(connection)
        else:
            self._all.discard(connection)
        self._ended_as(connection.number, connection.start, status, body, kind)
        if self._waiting:
            self._match()

    def _ended_as(self, number: int, start: float, status: int, body: bytes, kind: str | None) -> None:
        """Count a request; called once for every request."""
        if kind is None and self.check is not None:
            kind = self.check(number, status, body)
        if kind is None:
            self.tally.answer(start - self._began, self._now() - start, status)
        else:
            self.tally.fail(start - self._began, self._now() - start, kind)
        if self._over:
            self._end_if_done()
        elif self.load.rate is None and kind is None:
            self._again()
        elif self.load.rate is None:
            self._loop.call_later(PAUSE_AFTER_FAILURE, self._again)

    def _end_if_done(self) -> None:
        if len(self.tally.statuses) == self.tally.sent:
            self._done.set()

    def _check_timeouts(self) -> None:
        """Abort requests that take too long."""
        late = self._now() - self.load.timeout
        for connection in tuple(self._all):
            if connection.busy and connection.asked_at < late:
                connection.give_up()
        while self._waiting and self._waiting[0][1] < late:
            number, start = self._waiting.popleft()
            self._ended_as(number, start, 0, b"", "no connection")
        self._timeout_check = self._loop.call_later(TIMEOUT_CHECK, self._check_timeouts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="address of the service, with the path")
    parser.add_argument("--body", type=Path, help="request bodies, one per line; without it, GET")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=float, help="requests per second")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--key", help="API key")
    options = parser.parse_args()
    url, lines = urlsplit(options.url), options.body.read_bytes().splitlines() if options.body else [None]
    headers = {"Authorization": f"Bearer {options.key}"} if options.key else {}
    requests = [encoded(url.path or "/", line, headers=headers) for line in lines]
    load = Load(
        url.port or 80, requests, options.seconds, options.rate, options.connections, host=url.hostname or "127.0.0.1"
    )
    for name, value in run_here(load).row().items():
        print(f"{name:14} {value}")


if __name__ == "__main__":
    main()
