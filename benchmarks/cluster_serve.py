"""Compare a service that Ray placed with the same service without Ray: requests/s, processor time, a killed front.

    python -m benchmarks.cluster_serve [--quick] [--json ROWS.json]

Both run on this machine, and are sent requests in turns, so that changes of its speed affect both alike. What Ray's own
processes cost while the service runs is reported beside it.
"""

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.reliability.load import Load, run_here
from benchmarks.reliability.models import make_model, make_requests, size_of
from benchmarks.reliability.report import Report, argument_parser, run
from benchmarks.reliability.service import Service, service
from psutil import NoSuchProcess, Process

ROUNDS, SECONDS = 10, 1.5
CONNECTIONS = 16
SHARE = 0.8  # of the throughput without Ray, at least
LISTS = (1, 16)  # in a request
FRONT = "fansrec.cluster.serving.service_process"
IDLE_SECONDS = 10.0  # in which the processes that Ray starts in advance have started
RESTART_SECONDS = 60.0


def measure(report: Report, options: argparse.Namespace) -> None:
    size, rounds = size_of(options.quick), 2 if options.quick else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        artifact = make_model(Path(folder) / "fans", size)
        with service([artifact]) as alone, service([artifact, "--engine", "ray"]) as placed:
            time.sleep(IDLE_SECONDS)
            before = cpu_seconds(placed)
            time.sleep(IDLE_SECONDS)
            idle = (cpu_seconds(placed) - before) / IDLE_SECONDS
            report.note("processes of Ray and of the service without requests, share of a core", f"{idle:.1%}")
            for lists in LISTS:
                requests = [request.encoded for request in make_requests(size, 512, lists)]
                compare(report, f"{lists} lists a request", alone, placed, requests, rounds)
            restart(report, placed)


def compare(report: Report, what: str, alone: Service, placed: Service, requests: Sequence[bytes], rounds: int) -> None:
    """Send requests to both in turns and compare each pair of turns."""
    turns: list[tuple[Turn, Turn]] = []
    for number in range(rounds + 1):  # the first is a warm-up
        pair = {running: send(running, requests) for running in ((alone, placed), (placed, alone))[number % 2]}
        turns.append((pair[alone], pair[placed]))
    del turns[0]
    for name, made in (("without Ray", [a for a, _ in turns]), ("placed by Ray", [b for _, b in turns])):
        report.note(f"{name}, {what}, requests/s, median", median(turn.rate for turn in made))
        report.note(f"{name}, {what}, processor time per request, ms", median(turn.cpu_ms for turn in made))
    ratio = median(b.rate / a.rate for a, b in turns)
    report.require_speed(f"requests/s with Ray / without, {what}", f"at least {SHARE:.0%}", f"{ratio:.0%}",
                         ratio >= SHARE, pairs=[(a.rate, b.rate) for a, b in turns])  # fmt: skip


class Turn(NamedTuple):
    rate: float  # requests/s
    cpu_ms: float  # of all processes, per request


def send(running: Service, requests: Sequence[bytes]) -> Turn:
    before = cpu_seconds(running)
    tally = run_here(Load(running.port, requests, SECONDS, connections=CONNECTIONS))
    return Turn(tally.goodput(), 1e3 * (cpu_seconds(running) - before) / tally.sent)


def cpu_seconds(running: Service) -> float:
    """Return the processor time of all processes, those of Ray too."""
    return sum(running.processes.cpu_seconds().values())


def restart(report: Report, running: Service) -> None:
    """Kill the front process and wait until the service that Ray's actor starts in its place answers."""
    began, before = time.monotonic(), fronts(running)
    os.kill(before[0], signal.SIGKILL)
    while fronts(running) in ([], before) or not running.is_ready():
        if time.monotonic() - began > RESTART_SECONDS:
            raise RuntimeError("the service was not started again")
        time.sleep(0.02)
    report.note("placed by Ray, front process killed, seconds until requests are answered", time.monotonic() - began)


def fronts(running: Service) -> list[int]:
    return [process.pid for process in Process(running.process.pid).children(recursive=True) if is_front(process)]


def is_front(process: Process) -> bool:
    try:
        return FRONT in process.cmdline()
    except NoSuchProcess:
        return False


if __name__ == "__main__":
    run("cluster_serve", argument_parser(__doc__), measure)
