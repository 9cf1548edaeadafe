"""Send more requests than the service can answer: it must refuse the rest immediately and keep its goodput.

    python -m benchmarks.reliability.overload [--seconds 20] [--lists 1 16]

First the capacity is measured, then requests arrive at 1, 2 and 5 times that rate, whether or not the service keeps up.
The generator needs a share of the same cores, which is reported.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.reliability.capacity import peak
from benchmarks.reliability.load import Load
from benchmarks.reliability.load_process import run_load
from benchmarks.reliability.memory import memory_of
from benchmarks.reliability.models import make_model, make_requests, size_of
from benchmarks.reliability.report import Report, argument_parser, run
from benchmarks.reliability.service import Service, service
from benchmarks.reliability.tally import Tally

LEAST_GOODPUT = 0.95
MOST_GROWTH = 16.0  # megabytes of all processes of the service, during an overload
TIMES = (1, 2, 5)


def measure(report: Report, options: argparse.Namespace) -> None:
    size = size_of(options.quick)
    seconds = options.seconds or (1.5 if options.quick else 20.0)
    with tempfile.TemporaryDirectory() as folder:
        artifact = make_model(Path(folder) / "fans", size)
        for lists in options.lists:
            requests = [request.encoded for request in make_requests(size, 512, lists)]
            with service([artifact]) as running:
                overload(report, f"{lists} list{'s' * (lists > 1)} per request", running, requests, seconds)


def overload(report: Report, words: str, running: Service, requests: Sequence[bytes], seconds: float) -> None:
    best = peak(running, requests, seconds / 4)
    capacity = best.goodput()
    report.note(f"capacity, requests/s, {words}", capacity, load=best.row())
    first: Tally | None = None
    for times in TIMES:
        cpu = running.processes.cpu_seconds()
        load = Load(running.port, requests, seconds, rate=times * capacity, connections=900)
        with memory_of(running) as memory:
            tally = run_load(load, refused_well)
        used = {role: spent - cpu.get(role, 0.0) for role, spent in running.processes.cpu_seconds().items()}
        judge(report, f"{times} x, {words}", tally, capacity, first or tally, times)
        report.require_speed(
            f"memory gained, {times} x, {words}",
            f"< {MOST_GROWTH:.0f} MB",
            f"{memory.growth():.1f} MB",
            memory.growth() < MOST_GROWTH,
            memory=memory.row(),
            cpu_seconds=used,
        )
        first = first or tally
    report.note(f"capacity measured again, requests/s, {words}", peak(running, requests, seconds / 4).goodput())


def judge(report: Report, words: str, tally: Tally, capacity: float, first: Tally, times: int) -> None:
    good, share = tally.goodput(), tally.goodput() / capacity
    what, measured = f"goodput relative to the peak, {words}", f"{share:.0%} ({good:,.0f}/s)"
    if times == 1:
        report.note(what, measured, share=share, load=tally.row())
    else:
        target, reached = f">= {LEAST_GOODPUT:.0%}", share >= LEAST_GOODPUT
        report.require_speed(what, target, measured, reached, share=share, load=tally.row())
    report.note(
        f"p50 and p99 of accepted requests, {words}", f"{tally.percentile(50):.1f} and {tally.percentile(99):.1f} ms"
    )
    if times > 1:
        limit = 2 * first.percentile(99)
        report.require_speed(
            f"p99 of accepted requests, {words}",
            f"<= twice that at 1 x ({limit:.0f} ms)",
            f"{tally.percentile(99):.0f} ms",
            tally.percentile(99) <= limit,
        )
        report.note(
            f"p50 and p99 of refusals, {words}",
            f"{tally.percentile(50, 429):.1f} and {tally.percentile(99, 429):.1f} ms",
        )
    others = {status: count for status, count in tally.by_status.items() if status not in (200, 429)}
    report.require(
        f"neither answered nor refused, {words}", "0", {**others, **tally.failed} or 0, not others and not tally.failed
    )
    report.note(f"share of a core used by the generator, {words}", f"{tally.cpu / tally.took:.0%}")


def refused_well(number: int, status: int, body: bytes) -> str | None:
    return "refused without retry_after" if status == 429 and b'"retry_after"' not in body else None


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--seconds", type=float, help="duration at each rate")
    parser.add_argument("--lists", type=int, nargs="+", default=[1, 16])
    run("overload", parser, measure)


if __name__ == "__main__":
    main()
