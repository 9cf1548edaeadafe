"""The service on Ray Serve beside the ordinary one: requests a second, latency, and replicas killed under load.

    python -m benchmarks.cluster_serve [--quick] [--json ROWS.json]

One list a request, ten items asked. Everything runs on this machine: the load generator, Ray's own processes (about as
much work as the service itself), its proxy, two fronts and the replicas that hold the models share its cores, so
figures say what a request costs, not what a cluster can.
"""

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.reliability.apart import apart, run_apart
from benchmarks.reliability.capacity import peak
from benchmarks.reliability.load import Load
from benchmarks.reliability.models import make_model, make_requests, size_of
from benchmarks.reliability.promises import Promises, options, run
from benchmarks.reliability.service import Service, service

SHARE = 0.5  # of what it can, while replicas are killed
EVERY = 15.0  # seconds between two kills: a replica takes about ten to come back
TITLE = "ray::ServeReplica:fansrec:"


def measure(promises: Promises, asked: argparse.Namespace) -> None:
    size, seconds = size_of(asked.quick), 1.0 if asked.quick else 5.0
    requests = [asked.request for asked in make_requests(size, 512)]
    with tempfile.TemporaryDirectory() as folder:
        artifact = make_model(Path(folder) / "fans", size)
        for count in (1, 2):
            with service([artifact], workers=count) as running:
                speed(promises, f"ordinary, {count} workers", running, requests, seconds)
        for count in (1, 2):
            with service([artifact, "--engine", "ray", "--replicas", str(count)]) as running:
                until_there(running, count)
                best = speed(promises, f"Ray, {count} replicas", running, requests, seconds)
                if count == 2:
                    load = Load(running.port, requests, 3600, rate=SHARE * best, connections=64)
                    for kind in ("Models", "Front"):
                        killed(promises, kind, running, load, 1 if asked.quick else 3)


def speed(promises: Promises, what: str, running: Service, requests: Sequence[bytes], seconds: float) -> float:
    alone = run_apart(Load(running.port, requests, seconds, connections=1))
    best = peak(running, requests, seconds)
    times = f"{alone.percentile(50):.2f} and {alone.percentile(99):.2f} ms"
    promises.tell(f"{what}, p50 and p99 of one connection", times, load=alone.row())
    promises.tell(f"{what}, requests a second at most", best.goodput(), load=best.row())
    return best.goodput()


def killed(promises: Promises, kind: str, running: Service, load: Load, times: int) -> None:
    """SIGKILL for replicas of a kind, one after another, under a load that never retries."""
    with apart(load) as under_load:
        time.sleep(1.0)
        for _ in range(times):
            began = time.monotonic()
            os.kill(replicas(running.process.pid, kind)[0], signal.SIGKILL)
            time.sleep(max(0.0, began + EVERY - time.monotonic()))
        tally = under_load.end()
    failed = tally.wrong(promises.quick)
    what = f"Ray, {times} replicas of {kind} killed, failed of {tally.sent:,} requests"
    promises.hold(what, "0", failed or 0, not failed, load=tally.row())
    shown = ", ".join(f"{tally.percentile(percent):.0f}" for percent in (50, 99, 100))
    promises.tell(f"Ray, {kind} killed, p50, p99 and slowest", f"{shown} ms")


def until_there(running: Service, count: int) -> None:
    """All replicas, not only the first."""
    end = time.monotonic() + 120
    while len(replicas(running.process.pid, "Models")) < count or not running.is_ready():
        if time.monotonic() > end:
            raise RuntimeError(f"there are no {count} replicas after two minutes")
        time.sleep(0.2)
    time.sleep(2.0)


def replicas(driver: int, kind: str) -> list[int]:
    """Processes that Ray started for this service, by their title."""
    return [pid for pid in below(driver) if read(pid, "cmdline").startswith(TITLE + kind)]


def below(pid: int) -> list[int]:
    parents = {int(at.name): read(int(at.name), "stat") for at in Path("/proc").iterdir() if at.name.isdigit()}
    children = [one for one, stat in parents.items() if stat and int(stat.rpartition(")")[2].split()[1]) == pid]
    return children + [further for child in children for further in below(child)]


def read(pid: int, what: str) -> str:
    try:
        return Path(f"/proc/{pid}/{what}").read_text(errors="replace")
    except OSError:  # it has ended meanwhile
        return ""


if __name__ == "__main__":
    run("cluster_serve", options(__doc__), measure)
