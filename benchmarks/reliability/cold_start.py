"""Measure the time from the start of the process to "ready" and to the first answer, with 104,695 items.

    python -m benchmarks.reliability.cold_start [--run RUN] [--times 5]

The file system's cache is warm, because the model has just been written. RUN is your own trained model.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from benchmarks.reliability.models import make_model, make_requests, size_of
from benchmarks.reliability.report import Report, argument_parser, run
from benchmarks.reliability.service import Service

MOST_SECONDS = 5.0


def measure(report: Report, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        size = size_of(options.quick)
        made = make_model(Path(folder) / "fans", size)
        body = make_requests(size, 1)[0].body
        for words, artifact in ((f"{size.items:,} items", made), (str(options.run), options.run)):
            if artifact is not None:
                starts = [start(artifact, body, Path(folder)) for _ in range(1 if options.quick else options.times)]
                judge(report, words, starts)


def start(artifact: Path, body: bytes, folder: Path) -> tuple[float, float, int]:
    """Return the seconds to ready and to the first answer, and the exit code."""
    running = Service([artifact], folder)
    try:
        ready = running.wait_until_ready(every=0.01)
        status, _ = running.ask("/v1/continue", body)
        answered = time.monotonic() - running.began
        assert status in (200, 422), status  # the user's own model may know none of these items
        return ready, answered, running.stop()
    finally:
        running.end()


def judge(report: Report, words: str, starts: list[tuple[float, float, int]]) -> None:
    ready, answered, codes = (list(column) for column in zip(*starts, strict=True))
    report.require_speed(
        f"from start to ready, slowest of {len(starts)}, {words}",
        f"<= {MOST_SECONDS:.0f} s",
        f"{max(ready):.2f} s",
        max(ready) <= MOST_SECONDS,
        ready_s=ready,
    )
    report.note(f"from start to ready, median, {words}", f"{np.median(ready):.2f} s")
    report.note(f"from start to the first answer, median, {words}", f"{np.median(answered):.2f} s", answered_s=answered)
    report.require(f"exit codes after SIGTERM, {words}", "0", max(codes), not any(codes))


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--run", type=Path, help="also measure this trained model")
    parser.add_argument("--times", type=int, default=5, help="number of starts")
    run("cold_start", parser, measure)


if __name__ == "__main__":
    main()
