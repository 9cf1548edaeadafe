"""Compare the service on Ray Serve with the service on one machine: requests/s, latency, replicas killed under load.

    python -m benchmarks.cluster_serve [--quick] [--json ROWS.json]

One list and ten items per request. Everything runs on this machine: the load generator, Ray's own processes (about as
much work as the service itself), its proxy, two fronts and the replicas that hold the models share its cores, so the
figures show the cost of a request, not the capacity of a cluster.
"""

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.reliability.capacity import peak
from benchmarks.reliability.load import Load
from benchmarks.reliability.load_process import run_load, start_load
from benchmarks.reliability.models import make_model, make_requests, size_of
from benchmarks.reliability.report import Report, argument_parser, run
from benchmarks.reliability.service import Service, service

SHARE = 0.5  # of the capacity, while replicas are killed
EVERY = 15.0  # seconds between two kills: a replica takes about ten to come back
TITLE = "ray::ServeReplica:fansrec:"


def measure(report: Report, options: argparse.Namespace) -> None:
    size, seconds = size_of(options.quick), 1.0 if options.quick else 5.0
    requests = [request.encoded for request in make_requests(size, 512)]
    with tempfile.TemporaryDirectory() as folder:
        artifact = make_model(Path(folder) / "fans", size)
        for count in (1, 2):
            with service([artifact], workers=count) as running:
                speed(report, f"one machine, {count} workers", running, requests, seconds)
        for count in (1, 2):
            with service([artifact, "--engine", "ray", "--replicas", str(count)]) as running:
                wait_for_replicas(running, count)
                best = speed(report, f"Ray, {count} replicas", running, requests, seconds)
                if count == 2:
                    load = Load(running.port, requests, 3600, rate=SHARE * best, connections=64)
                    for kind in ("Models", "Front"):
                        killed(report, kind, running, load, 1 if options.quick else 3)


def speed(report: Report, what: str, running: Service, requests: Sequence[bytes], seconds: float) -> float:
    alone = run_load(Load(running.port, requests, seconds, connections=1))
    best = peak(running, requests, seconds)
    times = f"{alone.percentile(50):.2f} and {alone.percentile(99):.2f} ms"
    report.note(f"{what}, p50 and p99 of one connection", times, load=alone.row())
    report.note(f"{what}, capacity, requests/s", best.goodput(), load=best.row())
    return best.goodput()


def killed(report: Report, kind: str, running: Service, load: Load, times: int) -> None:
    """Kill replicas of a kind one after another, under a load that never retries."""
    with start_load(load) as under_load:
        time.sleep(1.0)
        for _ in range(times):
            began = time.monotonic()
            os.kill(replicas(running.process.pid, kind)[0], signal.SIGKILL)
            time.sleep(max(0.0, began + EVERY - time.monotonic()))
        tally = under_load.end()
    failed = tally.wrong(report.quick)
    what = f"Ray, {times} replicas of {kind} killed, failed of {tally.sent:,} requests"
    report.require(what, "0", failed or 0, not failed, load=tally.row())
    shown = ", ".join(f"{tally.percentile(percent):.0f}" for percent in (50, 99, 100))
    report.note(f"Ray, {kind} killed, p50, p99 and slowest", f"{shown} ms")


def wait_for_replicas(running: Service, count: int) -> None:
    """Wait until all replicas are running."""
    end = time.monotonic() + 120
    while len(replicas(running.process.pid, "Models")) < count or not running.is_ready():
        if time.monotonic() > end:
            raise RuntimeError(f"fewer than {count} replicas after two minutes")
        time.sleep(0.2)
    time.sleep(2.0)


def replicas(driver: int, kind: str) -> list[int]:
    """Return the processes of a kind that Ray started for this service."""
    return [pid for pid in descendants(driver) if read(pid, "cmdline").startswith(TITLE + kind)]


def descendants(pid: int) -> list[int]:
    parents = {int(at.name): read(int(at.name), "stat") for at in Path("/proc").iterdir() if at.name.isdigit()}
    children = [one for one, stat in parents.items() if stat and int(stat.rpartition(")")[2].split()[1]) == pid]
    return children + [further for child in children for further in descendants(child)]


def read(pid: int, what: str) -> str:
    try:
        return Path(f"/proc/{pid}/{what}").read_text(errors="replace")
    except OSError:  # it has ended
        return ""


if __name__ == "__main__":
    run("cluster_serve", argument_parser(__doc__), measure)
