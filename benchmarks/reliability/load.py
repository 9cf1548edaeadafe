"""An HTTP/1.1 load generator that leaves the processor to the service, and loses sight of no request.

    python -m benchmarks.reliability.load http://127.0.0.1:8080/v1/continue --body BODIES.jsonl --connections 8
    python -m benchmarks.reliability.load http://127.0.0.1:8080/v1/continue --body BODIES.jsonl --rate 500

Without a rate each connection asks again as soon as it is answered. With one, requests begin when it says, whether or
not the service keeps up, and latency counts from there: a service that stalls cannot hide it by being asked less often.
It never retries. BODIES.jsonl has a request body in each line; they are sent in turn.
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

PATIENCE = 0.01  # seconds before the request that follows a failed one
LOOK_AROUND = 0.2  # seconds between two looks for answers that take too long
Check = Callable[[int, int, bytes], str | None]  # number of the request, status and body; what is wrong, if anything


@dataclass(frozen=True)
class Load:
    """What to send; requests are taken in turn."""

    port: int
    requests: Sequence[bytes]
    seconds: float
    rate: float | None = None  # requests a second; None: each connection asks when it is answered
    connections: int = 8  # at most so many, where there is a rate
    poisson: bool = True  # or evenly spaced
    timeout: float = 30.0  # seconds for an answer
    most: int = 1 << 62  # requests in all
    host: str = "127.0.0.1"
    seed: int = 0


async def run(load: Load, check: Check | None = None) -> Tally:
    return await Generator(load, check).run()


def run_here(load: Load, check: Check | None = None) -> Tally:
    """In this process, on an event loop of its own."""
    return uvloop.run(run(load, check))


class Generator:
    """One load, run once."""

    def __init__(self, load: Load, check: Check | None = None) -> None:
        self.load, self.check, self.tally = load, check, Tally()
        self._loop, self._now = asyncio.get_running_loop(), time.monotonic
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._waiting: deque[tuple[int, float]] = deque()  # requests that have no connection yet
        self._moments: deque[float] = deque()  # when requests begin, where there is a rate
        self._over, self._done = False, asyncio.Event()

    async def run(self) -> Tally:
        """Until the time is over or `stop` is called, and every request has ended."""
        worked, self._began = time.process_time(), self._now()
        self._end = self._loop.call_later(self.load.seconds, self.stop)
        self._look = self._loop.call_later(LOOK_AROUND, self._look_around)
        ticker = self._keep_rate() if self.load.rate else None
        if ticker is None:
            for _ in range(self.load.connections):
                self._again()
        await self._done.wait()
        self._look.cancel()
        if ticker is not None:
            ticker.close()
        for connection in tuple(self._all):
            connection.transport.abort()
        self.tally.notes = dict(getattr(self.check, "notes", {}))
        self.tally.took, self.tally.cpu = self._now() - self._began, time.process_time() - worked
        return self.tally

    def stop(self) -> None:
        """Send no more; those under way are waited for."""
        if not self._over:
            self._over, self.tally.lasted = True, self._now() - self._began
            self._end.cancel()
            self._end_if_done()

    def _keep_rate(self) -> Ticker:
        """Requests that begin at moments drawn beforehand."""
        rate, random = self.load.rate or 1.0, np.random.default_rng(self.load.seed)
        count = min(self.load.most, int(self.load.seconds * rate * 1.1) + 100)
        gaps = random.exponential(1 / rate, count) if self.load.poisson else np.full(count, 1 / rate)
        self._moments.extend((self._began + np.cumsum(gaps)).tolist())
        ticker = Ticker(self._loop, lambda: self._begin_due(ticker))
        ticker.at(self._moments[0])
        return ticker

    def _begin_due(self, ticker: Ticker) -> None:
        now, moments = self._now(), self._moments
        while moments and moments[0] <= now and not self._over:
            self._begin(moments.popleft())
        if not moments:
            self.stop()
        elif not self._over:
            ticker.at(moments[0])

    def _again(self) -> None:
        """The next request of a connection that was answered."""
        if self.tally.sent >= self.load.most:
            self.stop()
        elif not self._over:
            self._begin(self._now())

    def _begin(self, start: float) -> None:
        self._waiting.append((self.tally.sent, start))
        self.tally.sent += 1
        self._match()

    def _match(self) -> None:
        """Give waiting requests to idle connections, or open more of these."""
        while self._waiting and self._idle:
            connection = self._idle.pop()
            if connection.open:
                number, start = self._waiting.popleft()
                request = self.load.requests[number % len(self.load.requests)]
                connection.ask(number, start, self._now(), request)
        room = self.load.connections - len(self._all) - len(self._opening)
        for _ in range(min(room, len(self._waiting) - len(self._opening))):
            task = self._loop.create_task(self._open())
            self._opening.add(task)

    async def _open(self) -> None:
        """One more connection; if it cannot be had, the request that has waited longest has failed."""
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
        """Every request comes here once."""
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
            self._loop.call_later(PATIENCE, self._again)

    def _end_if_done(self) -> None:
        if len(self.tally.statuses) == self.tally.sent:
            self._done.set()

    def _look_around(self) -> None:
        """Give up on what takes too long."""
        late = self._now() - self.load.timeout
        for connection in tuple(self._all):
            if connection.busy and connection.asked_at < late:
                connection.give_up()
        while self._waiting and self._waiting[0][1] < late:
            number, start = self._waiting.popleft()
            self._ended_as(number, start, 0, b"", "no connection")
        self._look = self._loop.call_later(LOOK_AROUND, self._look_around)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--body", type=Path, help="request bodies, one a line; without it, GET")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=float, help="requests a second")
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
