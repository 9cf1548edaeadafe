"""Workers killed, hung, and the processes behind them too, while a client that never retries notices nothing.

    python -m benchmarks.reliability.kill [--seconds 60]

Every five seconds a worker picked at random gets SIGKILL, under a load of 60% of what the service can. Then one is
stopped with SIGSTOP (it lives, but never answers), then the process that holds the models and the one that starts all
others are killed, each with a worker, under half that load.
"""

import argparse
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.reliability.apart import apart
from benchmarks.reliability.capacity import peak
from benchmarks.reliability.load import Load
from benchmarks.reliability.models import make_model, make_requests, size_of
from benchmarks.reliability.promises import Promises, options, run
from benchmarks.reliability.service import Service, service
from benchmarks.reliability.tally import Tally

SHARE, SHARE_WHILE_HUNG = 0.6, 0.3
EVERY = 5.0  # seconds
MOST_BACK = 2.0  # seconds until all workers are there again
HANG = 2.0  # seconds of silence that this service allows
POLL = 0.02


def measure(promises: Promises, asked: argparse.Namespace) -> None:
    size = size_of(asked.quick)
    requests = [asked.request for asked in make_requests(size, 512)]
    with tempfile.TemporaryDirectory() as folder:
        artifact = make_model(Path(folder) / "fans", size)
        with service([artifact], hang_s=HANG) as running:
            best = peak(running, requests, 0.7 if asked.quick else 4.0).goodput()
            promises.tell("requests a second at most", best)
            for what, share, disturb in (
                ("workers killed", SHARE, lambda: kill_workers(running, asked)),
                ("a worker hung", SHARE_WHILE_HUNG, lambda: hang_worker(running)),
                ("the model host killed", SHARE_WHILE_HUNG, lambda: kill_behind(running, "model host")),
                ("the supervisor killed", SHARE_WHILE_HUNG, lambda: kill_behind(running, "supervisor")),
            ):
                load = Load(running.port, requests, 3600, rate=share * best, connections=256)
                disturbed(promises, what, load, disturb)
            causes = {cause: int(running.metric("fans_worker_deaths_total", cause=cause)) for cause in ("died", "hung")}
            promises.hold("deaths noticed as hung", ">= 1", causes["hung"], causes["hung"] >= 1, deaths=causes)
            promises.tell("requests given to another worker", int(running.metric("fans_retried_total")))


def disturbed(promises: Promises, what: str, load: Load, disturb: Callable[[], list[float]]) -> None:
    """What clients see of it."""
    with apart(load) as under_load:
        time.sleep(1.0)
        back = disturb()
        time.sleep(1.0)
        tally: Tally = under_load.end()
    failed = tally.wrong(promises.quick)
    promises.hold(f"{what}, failed of {tally.sent:,} requests", "0", failed or 0, not failed, load=tally.row())
    promises.tell(
        f"{what}, p50, p99 and slowest", ", ".join(f"{tally.percentile(p):.1f}" for p in (50, 99, 100)) + " ms"
    )
    limit = MOST_BACK + (HANG if "hung" in what else 0)
    promises.speed(f"{what}, all workers back after, slowest of {len(back)}",
                   f"<= {limit:.0f} s" + (f", {HANG:.0f} of them to notice" if "hung" in what else ""),
                   f"{max(back):.2f} s", max(back) <= limit, back_s=back)  # fmt: skip


def kill_workers(running: Service, asked: argparse.Namespace) -> list[float]:
    seconds = asked.seconds or (2.0 if asked.quick else 60.0)
    every, chance, back = min(EVERY, seconds / 4), random.Random(0), []
    for _ in range(round(seconds / every)):
        began = time.monotonic()
        back.append(back_after(running, lambda: os.kill(chance.choice(running.processes.of("worker")), signal.SIGKILL)))
        time.sleep(max(0.0, began + every - time.monotonic()))
    return back


def hang_worker(running: Service) -> list[float]:
    """Under load it holds work soon."""
    return [back_after(running, lambda: os.kill(running.processes.of("worker")[0], signal.SIGSTOP))]


def kill_behind(running: Service, role: str) -> list[float]:
    """Kill whom workers come from, and a worker with it: it must come back all the same, and so must the other."""
    old = set(running.processes.of(role))

    def harm() -> None:
        os.kill(max(old), signal.SIGKILL)
        os.kill(running.processes.of("worker")[-1], signal.SIGKILL)

    back = back_after(running, harm)
    until(lambda: set(running.processes.of(role)) - old, 30.0, f"another {role}")
    return [back]


def back_after(running: Service, harm: Callable[[], object]) -> float:
    """Seconds until a lost worker has been noticed and replaced."""
    deaths = running.metric("fans_worker_deaths_total")
    harm()
    began = time.monotonic()
    until(lambda: running.metric("fans_worker_deaths_total") > deaths, 30.0, "a worker's death to be noticed")
    until(lambda: all_there(running), 30.0, "all workers")
    return time.monotonic() - began


def all_there(running: Service) -> bool:
    found = running.metrics()
    return found["fans_workers"][("state", "ready"),] >= found["fans_workers_wanted"][()]  # the busy ones among them


def until(true: Callable[[], object], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds:.0f} s for {what}, in vain")
        time.sleep(POLL)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, help="of killing workers")
    run("kill", parser, measure)


if __name__ == "__main__":
    main()
