"""Run ten minutes at 80% of the capacity: no errors, steady latency and memory, nothing left open.

    python -m benchmarks.reliability.soak [--seconds 600] [--lists 1] [--even]

Requests arrive at random moments, like those of many independent users; with --even, at regular intervals.
"""

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.reliability.capacity import peak
from benchmarks.reliability.load import Load
from benchmarks.reliability.load_process import run_load
from benchmarks.reliability.memory import memory_of
from benchmarks.reliability.models import make_model, make_requests, size_of
from benchmarks.reliability.report import Report, argument_parser, run
from benchmarks.reliability.service import Service, service

SHARE, SHARE_IF_QUICK = 0.8, 0.3
MOST_RATIO = 3.0  # p99 over p50
MOST_SLOPE = 1.0  # megabytes per minute
SETTLED = 1.0  # seconds after which closed connections are gone


def measure(report: Report, options: argparse.Namespace) -> None:
    size = size_of(options.quick)
    seconds = options.seconds or (6.0 if options.quick else 600.0)
    requests = [request.encoded for request in make_requests(size, 2048 // options.lists, options.lists)]
    with tempfile.TemporaryDirectory() as folder, service([make_model(Path(folder) / "fans", size)]) as running:
        running.wait_until_searchable()
        best = peak(running, requests, 1.0 if options.quick else 5.0)
        report.note("capacity, requests/s", best.goodput(), load=best.row())
        start, share = counts(running), SHARE_IF_QUICK if options.quick else SHARE
        with memory_of(running, every=1.0) as memory:
            rate = share * best.goodput()
            tally = run_load(Load(running.port, requests, seconds, rate, connections=256, poisson=not options.even))
        end = counts(running)
    report.require(
        f"errors in {tally.sent:,} requests, {seconds:,.0f} s",
        "0",
        tally.wrong(options.quick) or 0,
        not tally.wrong(options.quick),
    )
    ratio = tally.percentile(99) / tally.percentile(50)
    report.require_speed(
        "p99 over p50", f"<= {MOST_RATIO:.0f}", f"{ratio:.2f}", ratio <= MOST_RATIO, ratio=ratio, load=tally.row()
    )
    report.note("p50, p99 and p99.9", ", ".join(f"{tally.percentile(p):.2f}" for p in (50, 99, 99.9)) + " ms")
    report.require_speed(
        "memory gained in the last half",
        f"< {MOST_SLOPE:.0f} MB per minute",
        f"{memory.slope():.2f}",
        memory.slope() < MOST_SLOPE,
        slope=memory.slope(),
        memory=memory.row(),
    )
    for what, before, after in zip(("processes", "descriptors", "threads"), start, end, strict=True):
        report.require(f"{what} at the end", f"{before} as at the start", after, before == after)


def counts(running: Service) -> tuple[int, int, int]:
    time.sleep(SETTLED)
    return len(running.processes.look()), running.processes.descriptors(), running.processes.threads()


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--seconds", type=float, help="duration")
    parser.add_argument("--lists", type=int, default=1, help="lists per request")
    parser.add_argument("--even", action="store_true", help="regular intervals between requests")
    run("soak", parser, measure)


if __name__ == "__main__":
    main()
