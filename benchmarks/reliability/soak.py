"""Ten minutes at 80% of what the service can: no error, steady latency, steady memory, nothing left open.

    python -m benchmarks.reliability.soak [--seconds 600] [--lists 1] [--even]

Requests come at random moments, as those of many independent users do, unless they are told to come evenly.
"""

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.reliability.apart import run_apart
from benchmarks.reliability.capacity import peak
from benchmarks.reliability.load import Load
from benchmarks.reliability.models import make_model, make_requests, size_of
from benchmarks.reliability.promises import Promises, options, run
from benchmarks.reliability.service import Service, service
from benchmarks.reliability.watching import memory_of

SHARE, SHARE_IF_QUICK = 0.8, 0.3
MOST_RATIO = 3.0  # p99 over p50
MOST_SLOPE = 1.0  # megabytes a minute
SETTLED = 1.0  # seconds after which closed connections are forgotten


def measure(promises: Promises, asked: argparse.Namespace) -> None:
    size = size_of(asked.quick)
    seconds = asked.seconds or (6.0 if asked.quick else 600.0)
    requests = [asked.request for asked in make_requests(size, 2048 // asked.lists, asked.lists)]
    with tempfile.TemporaryDirectory() as folder, service([make_model(Path(folder) / "fans", size)]) as running:
        running.wait_until_searchable()
        best = peak(running, requests, 1.0 if asked.quick else 5.0)
        promises.tell("requests a second at most", best.goodput(), load=best.row())
        start, share = counts(running), SHARE_IF_QUICK if asked.quick else SHARE
        with memory_of(running, every=1.0) as memory:
            rate = share * best.goodput()
            tally = run_apart(Load(running.port, requests, seconds, rate, connections=256, poisson=not asked.even))
        end = counts(running)
    promises.hold(f"errors in {tally.sent:,} requests, {seconds:,.0f} s", "0",
                  tally.wrong(asked.quick) or 0, not tally.wrong(asked.quick))  # fmt: skip
    ratio = tally.percentile(99) / tally.percentile(50)
    promises.speed("p99 over p50", f"<= {MOST_RATIO:.0f}", f"{ratio:.2f}", ratio <= MOST_RATIO, ratio=ratio,
                   load=tally.row())  # fmt: skip
    promises.tell("p50, p99 and p99.9", ", ".join(f"{tally.percentile(p):.2f}" for p in (50, 99, 99.9)) + " ms")
    promises.speed("memory gained in the last half", f"< {MOST_SLOPE:.0f} MB a minute", f"{memory.slope():.2f}",
                   memory.slope() < MOST_SLOPE, slope=memory.slope(), memory=memory.row())  # fmt: skip
    for what, before, after in zip(("processes", "descriptors", "threads"), start, end, strict=True):
        promises.hold(f"{what} at the end", f"{before} as at the start", after, before == after)


def counts(running: Service) -> tuple[int, int, int]:
    time.sleep(SETTLED)
    return len(running.processes.look()), running.processes.descriptors(), running.processes.threads()


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--lists", type=int, default=1, help="in a request")
    parser.add_argument("--even", action="store_true")
    run("soak", parser, measure)


if __name__ == "__main__":
    main()
