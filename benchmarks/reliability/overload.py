"""More requests than the service can answer: it refuses the rest at once, and goes on answering as many as before.

    python -m benchmarks.reliability.overload [--seconds 20] [--lists 1 16]

First the most it answers is found, then requests come at 1, 2 and 5 times that rate, whether or not it keeps up. The
generator needs a share of the same cores, which is told.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.reliability.apart import run_apart
from benchmarks.reliability.capacity import peak
from benchmarks.reliability.load import Load
from benchmarks.reliability.models import make_model, make_requests, size_of
from benchmarks.reliability.promises import Promises, options, run
from benchmarks.reliability.service import Service, service
from benchmarks.reliability.tally import Tally
from benchmarks.reliability.watching import memory_of

LEAST_GOODPUT = 0.90
MOST_GROWTH = 16.0  # megabytes: of all processes of the service, over an overload
TIMES = (1, 2, 5)


def measure(promises: Promises, asked: argparse.Namespace) -> None:
    size = size_of(asked.quick)
    seconds = asked.seconds or (1.5 if asked.quick else 20.0)
    with tempfile.TemporaryDirectory() as folder:
        artifact = make_model(Path(folder) / "fans", size)
        for lists in asked.lists:
            requests = [asked.request for asked in make_requests(size, 512, lists)]
            with service([artifact]) as running:
                overload(promises, f"{lists} list{'s' * (lists > 1)} a request", running, requests, seconds)


def overload(promises: Promises, words: str, running: Service, requests: Sequence[bytes], seconds: float) -> None:
    best = peak(running, requests, seconds / 4)
    capacity = best.goodput()
    promises.tell(f"requests a second at most, {words}", capacity, load=best.row())
    first: Tally | None = None
    for times in TIMES:
        cpu = running.processes.cpu_seconds()
        load = Load(running.port, requests, seconds, rate=times * capacity, connections=900)
        with memory_of(running) as memory:
            tally = run_apart(load, refused_well)
        used = {role: spent - cpu.get(role, 0.0) for role, spent in running.processes.cpu_seconds().items()}
        judge(promises, f"{times} x, {words}", tally, capacity, first or tally, times)
        promises.speed(f"memory gained, {times} x, {words}", f"< {MOST_GROWTH:.0f} MB", f"{memory.growth():.1f} MB",
                       memory.growth() < MOST_GROWTH, memory=memory.row(), cpu_seconds=used)  # fmt: skip
        first = first or tally
    promises.tell(f"requests a second at most, measured again, {words}", peak(running, requests, seconds / 4).goodput())


def judge(promises: Promises, words: str, tally: Tally, capacity: float, first: Tally, times: int) -> None:
    good, share = tally.goodput(), tally.goodput() / capacity
    held = promises.speed if times > 1 else lambda what, asked, got, kept, **more: promises.tell(what, got, **more)
    held(f"of the peak answered, {words}", f">= {LEAST_GOODPUT:.0%}", f"{share:.0%} ({good:,.0f} a second)",
         share >= LEAST_GOODPUT, share=share, load=tally.row())  # fmt: skip
    promises.tell(f"p50 and p99 of what was accepted, {words}",
                  f"{tally.percentile(50):.1f} and {tally.percentile(99):.1f} ms")  # fmt: skip
    if times > 1:
        limit = 2 * first.percentile(99)
        promises.speed(f"p99 of what was accepted, {words}", f"<= twice that at 1 x ({limit:.0f} ms)",
                       f"{tally.percentile(99):.0f} ms", tally.percentile(99) <= limit)  # fmt: skip
        promises.tell(f"p50 and p99 of refusals, {words}",
                      f"{tally.percentile(50, 429):.1f} and {tally.percentile(99, 429):.1f} ms")  # fmt: skip
    others = {status: count for status, count in tally.by_status.items() if status not in (200, 429)}
    promises.hold(f"neither answered nor refused, {words}", "0", {**others, **tally.failed} or 0,
                  not others and not tally.failed)  # fmt: skip
    promises.tell(f"a core's share that the generator took, {words}", f"{tally.cpu / tally.took:.0%}")


def refused_well(number: int, status: int, body: bytes) -> str | None:
    return "refused without a word on when to come again" if status == 429 and b'"retry_after"' not in body else None


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, help="at each rate")
    parser.add_argument("--lists", type=int, nargs="+", default=[1, 16])
    run("overload", parser, measure)


if __name__ == "__main__":
    main()
