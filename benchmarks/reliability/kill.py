"""Kill and stop processes of a service under load; a client that never retries must not notice.

    python -m benchmarks.reliability.kill [--seconds 60]

Every five seconds a random worker gets SIGKILL, under a load of 60% of the capacity. Then a worker is stopped with
SIGSTOP (it exists but never answers), then the model host and the supervisor are killed, each together with a worker,
under half that load.
"""

import argparse
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.reliability.capacity import peak
from benchmarks.reliability.load import Load
from benchmarks.reliability.load_process import start_load
from benchmarks.reliability.models import make_model, make_requests, size_of
from benchmarks.reliability.report import Report, argument_parser, run
from benchmarks.reliability.service import Service, service
from benchmarks.reliability.tally import Tally

SHARE, SHARE_WHILE_HUNG = 0.6, 0.3
EVERY = 5.0  # seconds
MOST_BACK = 2.0  # seconds until all workers are back
MOST_SLOWEST = 0.1  # seconds of a request when a worker is killed
HANG = 2.0  # seconds without an answer that this service allows
POLL = 0.02
AFTERMATH = 1.0  # seconds after a kill in which requests count as affected by it


class Loss(NamedTuple):
    moment: float  # in time.monotonic()
    back: float  # seconds until all workers were there again


def measure(report: Report, options: argparse.Namespace) -> None:
    size = size_of(options.quick)
    requests = [request.encoded for request in make_requests(size, 512)]
    with tempfile.TemporaryDirectory() as folder:
        artifact = make_model(Path(folder) / "fans", size)
        with service([artifact], hang_s=HANG) as running:
            best = peak(running, requests, 0.7 if options.quick else 4.0).goodput()
            report.note("capacity, requests/s", best)
            for what, share, disturb in (
                ("workers killed", SHARE, lambda: kill_workers(running, options)),
                ("worker hung", SHARE_WHILE_HUNG, lambda: hang_worker(running)),
                ("model host killed", SHARE_WHILE_HUNG, lambda: kill_parent(running, "model host")),
                ("supervisor killed", SHARE_WHILE_HUNG, lambda: kill_parent(running, "supervisor")),
            ):
                load = Load(running.port, requests, 3600, rate=share * best, connections=256)
                disturbed(report, what, load, disturb)
            causes = {cause: int(running.metric("fans_worker_deaths_total", cause=cause)) for cause in ("died", "hung")}
            report.require("workers counted as hung", ">= 1", causes["hung"], causes["hung"] >= 1, deaths=causes)
            report.note("requests sent to another worker", int(running.metric("fans_retried_total")))


def disturbed(report: Report, what: str, load: Load, disturb: Callable[[], list[Loss]]) -> None:
    """Run `disturb` under load and report what clients see."""
    with start_load(load) as under_load:
        time.sleep(1.0)
        losses = disturb()
        time.sleep(1.0)
        tally: Tally = under_load.end()
        began = under_load.began
    failed = tally.wrong(report.quick)
    report.require(f"{what}, failed of {tally.sent:,} requests", "0", failed or 0, not failed, load=tally.row())
    report.note(f"{what}, p50, p99 and slowest", ", ".join(f"{tally.percentile(p):.1f}" for p in (50, 99, 100)) + " ms")
    if "killed" in what:
        report_slowest(report, what, tally, [loss.moment - began for loss in losses])
    back = [loss.back for loss in losses]
    limit = MOST_BACK + (HANG if "hung" in what else 0)
    report.require_speed(
        f"{what}, all workers back after, slowest of {len(back)}",
        f"<= {limit:.0f} s" + (f", {HANG:.0f} of them to notice" if "hung" in what else ""),
        f"{max(back):.2f} s",
        max(back) <= limit,
        back_s=back,
    )


def report_slowest(report: Report, what: str, tally: Tally, kills: list[float]) -> None:
    """Report the slowest request near a kill beside the slowest of the rest, which the kills had no part in."""
    starts, seconds = np.array(tally.starts), np.array(tally.seconds)
    near = np.zeros(len(starts), dtype=bool)
    for moment in kills:
        near |= (starts + seconds >= moment) & (starts <= moment + AFTERMATH)
    slowest, rest = seconds[near].max(initial=0), seconds[~near].max(initial=0)
    reached = slowest <= MOST_SLOWEST
    target, measured = f"<= {MOST_SLOWEST * 1000:.0f} ms", f"{slowest * 1000:.0f} ms"
    report.require_speed(f"{what}, slowest request near a kill", target, measured, reached, slowest_s=float(slowest))
    report.note(f"{what}, slowest of the other requests", f"{rest * 1000:.0f} ms", slowest_s=float(rest))


def kill_workers(running: Service, options: argparse.Namespace) -> list[Loss]:
    seconds = options.seconds or (2.0 if options.quick else 60.0)
    every, chance, losses = min(EVERY, seconds / 4), random.Random(0), []
    for _ in range(round(seconds / every)):
        began = time.monotonic()
        losses.append(loss_of(running, lambda: os.kill(chance.choice(running.processes.of("worker")), signal.SIGKILL)))
        time.sleep(max(0.0, began + every - time.monotonic()))
    return losses


def hang_worker(running: Service) -> list[Loss]:
    """Stop a worker with SIGSTOP; under load it soon holds a request."""
    return [loss_of(running, lambda: os.kill(running.processes.of("worker")[0], signal.SIGSTOP))]


def kill_parent(running: Service, role: str) -> list[Loss]:
    """Kill a process that workers are forked from, and a worker with it; both must be replaced."""
    old = set(running.processes.of(role))

    def harm() -> None:
        os.kill(max(old), signal.SIGKILL)
        os.kill(running.processes.of("worker")[-1], signal.SIGKILL)

    loss = loss_of(running, harm)
    until(lambda: set(running.processes.of(role)) - old, 30.0, f"another {role}")
    return [loss]


def loss_of(running: Service, harm: Callable[[], object]) -> Loss:
    """Lose a worker, and wait until that has been noticed and the worker replaced."""
    deaths = running.metric("fans_worker_deaths_total")
    began = time.monotonic()
    harm()
    until(lambda: running.metric("fans_worker_deaths_total") > deaths, 30.0, "a lost worker to be noticed")
    until(lambda: all_there(running), 30.0, "all workers")
    return Loss(began, time.monotonic() - began)


def all_there(running: Service) -> bool:
    found = running.metrics()
    return found["fans_workers"][("state", "ready"),] >= found["fans_workers_wanted"][()]  # busy workers are included


def until(true: Callable[[], object], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds:.0f} s for {what} without success")
        time.sleep(POLL)


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--seconds", type=float, help="duration of killing workers")
    run("kill", parser, measure)


if __name__ == "__main__":
    main()
