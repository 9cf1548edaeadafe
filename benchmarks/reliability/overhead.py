"""Measure the time that the service adds to the engine's, and the share of the engine's throughput that it reaches.

    python -m benchmarks.reliability.overhead [--categories 10 100] [--seconds 5]

Latency: one list at a time over one connection, in turns with the engine itself on the same lists in this process,
without a pause and with a pause between its calls, after which its weights have left the caches. Throughput: the engine
uses all cores of the machine alone, before and after the service does: with many lists a call, and with one.
"""

import argparse
import os
import socket
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reliability.load import Load
from benchmarks.reliability.load_process import run_load
from benchmarks.reliability.models import Request, Size, make_model, make_requests, size_of
from benchmarks.reliability.report import Report, argument_parser, run
from benchmarks.reliability.service import Service, service
from benchmarks.reliability.tally import Tally
from benchmarks.reliability.turns import TURN, WARM, Side, in_turns

PAUSE = 0.001  # seconds: how long the service's engine is idle between two requests of one client
MOST_MS, LEAST_SHARE, LEAST_SHARE_OF_ONE = 0.7, 0.80, 0.75
BATCH = 64
CLIENTS, SINGLE_CLIENTS = 4, 32


def measure(report: Report, options: argparse.Namespace) -> None:
    for categories in options.categories[:1] if options.quick else options.categories:
        size = size_of(options.quick, categories)
        with tempfile.TemporaryDirectory() as folder:
            run = make_model(Path(folder) / "fans", size)
            engine = Engine(run)
            with service([run]) as running:
                for k in (10, None):
                    words = f"N = {categories}, {'k = 10' if k else 'as many as the input'}"
                    one_at_a_time(report, words, running, engine, make_requests(size, 200, 1, k), options.seconds)
                    many_at_once(report, words, running, engine, size, k, options.seconds)


class Engine:
    """The engine alone: from item indices to item indices."""

    def __init__(self, run: Path) -> None:
        import torch

        from fansrec.artifact import read_artifact
        from fansrec.engine.backends import open_engine
        from fansrec.engine.rules import Rules

        read = read_artifact(run)
        self._rules = Rules()

        def opened(threads: int) -> Any:
            torch.set_num_threads(threads)
            return open_engine(read.model, len(read.vocabulary))

        cores = os.cpu_count() or 1
        self._each, self._all = [opened(1) for _ in range(cores)], opened(cores)
        self._one = self._each[0]

    def answer(self, inputs: Sequence[np.ndarray[Any, Any]], k: int) -> None:
        self._one.continue_lists(inputs, k, self._rules)

    def lists_per_second(self, requests: Sequence[Request], seconds: float) -> float:
        """Return the throughput on all cores."""
        given = [([np.array(items) for items in request.lists], request.k) for request in requests]
        for inputs, k in given[:2]:
            self._all.continue_lists(inputs, k, self._rules)
        began, lists = time.perf_counter(), 0
        for inputs, k in cycle(given):
            self._all.continue_lists(inputs, k, self._rules)
            lists += len(inputs)
            if time.perf_counter() - began > seconds:
                break
        return lists / (time.perf_counter() - began)

    def single_lists_per_second(self, requests: Sequence[Request], seconds: float) -> float:
        """Return the throughput on all cores of engines that get one list a call, each with one thread."""
        given = [([np.array(request.lists[0])], request.k) for request in requests]
        end = time.perf_counter() + seconds

        def work(engine: Any) -> int:
            lists = 0
            for inputs, k in cycle(given):
                engine.continue_lists(inputs, k, self._rules)
                lists += 1
                if time.perf_counter() > end:
                    return lists
            return lists

        with ThreadPoolExecutor(len(self._each)) as threads:  # the kernel does not hold the interpreter's lock
            return sum(threads.map(work, self._each)) / seconds


def one_at_a_time(
    report: Report, words: str, running: Service, engine: Engine, requests: Sequence[Request], seconds: float
) -> None:
    inputs, encoded = [[np.array(request.lists[0])] for request in requests], [request.encoded for request in requests]
    with socket.create_connection(("127.0.0.1", running.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def compute(number: int) -> None:
            engine.answer(inputs[number], requests[number].k)

        before = running.processes.cpu_seconds()
        sides = (Side(compute), Side(compute, PAUSE), Side(lambda number: over(connection, encoded[number])))
        alone, paced, served = in_turns(sides, len(requests), seconds)
        after = running.processes.cpu_seconds()
    report_times(report, words, alone, paced, served)
    calls = len(served.seconds) * (1 + WARM / TURN)  # each turn begins with untimed calls
    each = {role: (after[role] - before[role]) / calls * 1000 for role in ("front", "worker")}
    report.note(
        f"processor time per request, front and worker, {words}",
        f"{each['front']:.2f} and {each['worker']:.2f} ms",
        cpu_ms=each,
    )


def report_times(report: Report, words: str, alone: Side, paced: Side, served: Side) -> None:
    added = served.percentile(50) - alone.percentile(50)
    report.require_speed(
        f"added to the engine's p50, {words}",
        f"<= {MOST_MS:.1f} ms",
        f"{added:.3f} ms",
        added <= MOST_MS,
        added_ms=added,
        engine_p50_ms=alone.percentile(50),
        engine_p99_ms=alone.percentile(99),
        service_p50_ms=served.percentile(50),
        service_p99_ms=served.percentile(99),
        calls=len(served.seconds),
    )
    report.note(f"p50 of engine and service, {words}", f"{alone.percentile(50):.3f} and {served.percentile(50):.3f} ms")
    quickest = served.percentile(10) - alone.percentile(10)
    report.note(f"added to the quickest tenth, {words}", f"{quickest:.3f} ms", added_ms=quickest)
    added = served.percentile(50) - paced.percentile(50)
    report.note(
        f"added to the engine's p50 with {PAUSE * 1000:.0f} ms between its calls, {words}",
        f"{added:.3f} ms",
        added_ms=added,
        engine_p50_ms=paced.percentile(50),
    )


def over(connection: socket.socket, request: bytes) -> bytes:
    """Send one request over a keep-alive connection and return the answer, which must be 200."""
    connection.sendall(request)
    data = connection.recv(1 << 18)
    while (end := data.find(b"\r\n\r\n")) < 0:
        data += connection.recv(1 << 18)
    assert data.startswith(b"HTTP/1.1 200 "), data[:300]
    length = int(data[:end].lower().partition(b"content-length:")[2].split(b"\r", 1)[0])
    while len(data) < end + 4 + length:
        data += connection.recv(1 << 18)
    return data


def many_at_once(
    report: Report, words: str, running: Service, engine: Engine, size: Size, k: int | None, seconds: float
) -> None:
    batched, single = make_requests(size, 16, BATCH, k), make_requests(size, 1024, 1, k)
    before = engine.lists_per_second(batched, seconds / 2)
    many = served(running, batched, CLIENTS, seconds)
    after = engine.lists_per_second(batched, seconds / 2)
    one_before = engine.single_lists_per_second(single, seconds / 2)
    one = served(running, single, SINGLE_CLIENTS, seconds)
    one_after = engine.single_lists_per_second(single, seconds / 2)
    alone, one_alone = (before + after) / 2, (one_before + one_after) / 2
    share, share_of_one = many.goodput() * BATCH / alone, one.goodput() / one_alone
    report.require_speed(
        f"of the engine's throughput, {BATCH} lists per request, {words}",
        f">= {LEAST_SHARE:.0%}",
        f"{share:.0%}",
        share >= LEAST_SHARE,
        share=share,
        engine_lists_per_s=alone,
        engine_before=before,
        engine_after=after,
        service_lists_per_s=many.goodput() * BATCH,
        clients=CLIENTS,
        load=many.row(),
    )
    report.require_speed(
        f"of the engine's throughput, one list per request and call, {words}",
        f">= {LEAST_SHARE_OF_ONE:.0%}",
        f"{share_of_one:.0%}",
        share_of_one >= LEAST_SHARE_OF_ONE,
        share=share_of_one,
        engine_lists_per_s=one_alone,
        service_lists_per_s=one.goodput(),
        clients=SINGLE_CLIENTS,
        load=one.row(),
    )
    report.note(
        f"lists/s: engine and service with {BATCH} lists, engine and service with one, {words}",
        f"{alone:,.0f} and {many.goodput() * BATCH:,.0f}, {one_alone:,.0f} and {one.goodput():,.0f}",
    )
    wrong = {**many.wrong(), **one.wrong()}
    report.require(f"requests not answered with 200, {words}", "0", wrong or 0, not wrong)


def served(running: Service, requests: Sequence[Request], clients: int, seconds: float) -> Tally:
    encoded = [request.encoded for request in requests]
    run_load(Load(running.port, encoded, 0.5, connections=clients))
    return run_load(Load(running.port, encoded, seconds, connections=clients))


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--categories", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--seconds", type=float, default=None, help="for each measurement")
    run("overhead", parser, lambda report, options: measure(report, with_seconds(options)))


def with_seconds(options: argparse.Namespace) -> argparse.Namespace:
    options.seconds = options.seconds or (0.5 if options.quick else 6.0)
    return options


if __name__ == "__main__":
    main()
