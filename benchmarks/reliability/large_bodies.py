"""Measure how long the largest bodies hold the event loop of the front process, and how long they take.

    python -m benchmarks.reliability.large_bodies

The front process runs inside this one. The longest time that its event loop works on one round is the processor time
of its thread between two of its rounds, which other work of the machine does not change. Beside it: the same without
the process that validates large bodies.
"""

import argparse
import asyncio
import itertools
import json
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import uvloop
from benchmarks.reliability.report import Report, argument_parser, run
from benchmarks.updates.generated import generated_corpus, write_model

from fansrec.serving.http.keys import new_key
from fansrec.serving.server import Server
from fansrec.serving.service import Service
from fansrec.serving.settings import Settings
from fansrec.serving.validation.parsers import LARGE_CONTINUE, LARGE_WRITE

MIB = 1 << 20
LIMIT = 2 * MIB
TARGET_MS = 5.0
REPEATS = 7
NAMES, NUMBERS = [f"s{number:04d}" for number in range(2000)], [*range(10)] * 200
EVENT = {"type": "accepted", "model": "m" * 60, "item": "i" * 900, "position": 2, "client": "c" * 190}
ITEM = {"name": "n" * 900, "group": "g" * 900, "category": "c" * 100}


def bodies() -> Iterator[tuple[str, str, bytes]]:
    """Yield a name, the path and a body of nearly 2 MiB, or with the maximum number of entries.

    The last ones are the largest bodies that the front process still parses by itself.
    """
    for name, items, count in (("names", NAMES, 115), ("integers", NUMBERS, 256)):
        yield f"/v1/continue, {name}", "/v1/continue", encoded({"lists": [items] * count, "k": 1})
        lists = [{"id": f"p{number}", "items": items} for number in range(count)]
        yield f"/v1/lists, {name}", "/v1/lists", encoded({"lists": lists})
    yield "/v1/items", "/v1/items", encoded({"items": [{"id": f"i{number}"} | ITEM for number in range(1000)]})
    yield "/v1/events", "/v1/events", encoded({"events": [EVENT] * 1000})
    unknown = {f"unknown{number}": 1 for number in range(120_000)}
    yield "/v1/continue, 120,000 unknown fields", "/v1/continue", encoded({"lists": [["a"]]} | unknown)
    numbers = [*range(10)] * 99  # 2 bytes each
    small = {"lists": [numbers] * (LARGE_CONTINUE // 2 // len(numbers) - 1), "k": 1}
    yield "/v1/continue, integers, in front", "/v1/continue", encoded(small)
    lists = [{"id": f"p{number}", "items": numbers} for number in range(LARGE_WRITE // 2 // len(numbers) - 1)]
    yield "/v1/lists, integers, in front", "/v1/lists", encoded({"lists": lists})


def encoded(request: Any) -> bytes:
    return json.dumps(request, separators=(",", ":")).encode()[:LIMIT]


class Rounds:
    """The longest processor time of one round of the event loop."""

    def __init__(self) -> None:
        self.longest, self._loop, self._since = 0.0, asyncio.get_running_loop(), time.thread_time()
        self._over = False

    @contextmanager
    def measured(self) -> Iterator[None]:
        self.longest, self._over, self._since = 0.0, False, time.thread_time()
        self._loop.call_soon(self._next)
        yield
        self._over = True

    def _next(self) -> None:
        now = time.thread_time()
        self.longest, self._since = max(self.longest, now - self._since), now
        if not self._over:
            self._loop.call_soon(self._next)


@asynccontextmanager
async def front(settings: Settings) -> Any:
    """Run a service whose front process is this one."""
    service = Service(settings, asyncio.get_running_loop())
    await service.start()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Server(service)
        serving = asyncio.ensure_future(server.serve(sockets=[listening]))
        try:
            yield service, listening.getsockname()[1]
        finally:
            server.should_exit = True
            await serving
            await service.close()


def ask(port: int, path: str, body: bytes, key: str) -> tuple[int, float]:
    """Return the status and the milliseconds of a request."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    since = time.perf_counter()
    connection.request("POST", path, body, {"Content-Type": "application/json", "X-API-Key": key})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, (time.perf_counter() - since) * 1e3


async def measure_all(report: Report, settings: Settings, key: str, repeats: int) -> None:
    async with front(settings) as (service, port):
        here, rounds = service.validator, Rounds()
        parsers = here._parsers
        in_front = {kind: replace(parser, large=LIMIT * 2) for kind, parser in parsers.items()}
        for name, path, body in bodies():
            found: dict[str, tuple[float, float]] = {}
            for arm, chosen in (("front", in_front), ("process", parsers)):
                here._parsers = chosen
                status, found[arm] = await measure_one(rounds, port, path, body, key, repeats)
            report_one(report, f"{name}, {len(body) >> 10:,} KiB, {status}", found)


async def measure_one(
    rounds: Rounds, port: int, path: str, body: bytes, key: str, repeats: int
) -> tuple[int, tuple[float, float]]:
    """Return the status, and medians: milliseconds of the longest round of each request, and of the request."""
    longest, took = [], []
    status, _ = await asyncio.to_thread(ask, port, path, body, key)  # warm-up
    for _ in itertools.repeat(None, repeats):
        with rounds.measured():
            status, milliseconds = await asyncio.to_thread(ask, port, path, body, key)
        longest.append(rounds.longest * 1e3)
        took.append(milliseconds)
        await asyncio.sleep(0.1)
    return status, (float(np.median(longest)), float(np.median(took)))


def report_one(report: Report, name: str, found: Mapping[str, tuple[float, float]]) -> None:
    (before, took_before), (held, took) = found["front"], found["process"]
    measured = f"{held:.1f} ms ({before:.1f} ms); answered after {took:.0f} ms ({took_before:.0f} ms)"
    report.require_speed(name, f"<= {TARGET_MS:.0f} ms", measured, held <= TARGET_MS, held=held, before=before)


def measure(report: Report, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(folder / "model", generated_corpus(300, 1000, np.random.default_rng(0)), 300, 50)
        limits = {
            "max_body_bytes": LIMIT,
            "max_unpacked_bytes": LIMIT,
            "timeout_ms": 60_000,
            "writes_bytes": 1024 * MIB,
        }
        (folder / "writes").mkdir()
        key = new_key(folder / "keys", "large-bodies", "admin")
        values = {"models": [str(folder / "model")], "workers": 1, "writes": folder / "writes", "search_folder": folder}
        settings = Settings.model_validate(
            values | limits | {"keys": folder / "keys", "max_changes_per_s": 1e9, "max_events_per_s": 1e9}
        )
        uvloop.run(measure_all(report, settings, key, 2 if options.quick else REPEATS))


def main() -> None:
    run("large_bodies", argument_parser(__doc__), measure)


if __name__ == "__main__":
    main()
