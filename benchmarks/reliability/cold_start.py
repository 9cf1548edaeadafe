"""From the start of the process to "ready", and to the first answer, with 104,695 items.

    python -m benchmarks.reliability.cold_start [--run RUN] [--times 5]

The file system's cache is warm: the model has been written just before. RUN is a trained model of yours.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from benchmarks.reliability.models import make_model, make_requests, size_of
from benchmarks.reliability.promises import Promises, options, run
from benchmarks.reliability.service import Service

MOST_SECONDS = 5.0


def measure(promises: Promises, asked: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        size = size_of(asked.quick)
        made = make_model(Path(folder) / "fans", size)
        body = make_requests(size, 1)[0].body
        for words, artifact in ((f"{size.items:,} items", made), (str(asked.run), asked.run)):
            if artifact is not None:
                starts = [start(artifact, body, Path(folder)) for _ in range(1 if asked.quick else asked.times)]
                judge(promises, words, starts)


def start(artifact: Path, body: bytes, folder: Path) -> tuple[float, float, int]:
    """Seconds to ready and to the first answer, and the exit code."""
    running = Service([artifact], folder)
    try:
        ready = running.wait_until_ready(every=0.01)
        status, _ = running.ask("/v1/continue", body)
        answered = time.monotonic() - running.began
        assert status in (200, 422), status  # a model of the user's own may know none of these items
        return ready, answered, running.stop()
    finally:
        running.end()


def judge(promises: Promises, words: str, starts: list[tuple[float, float, int]]) -> None:
    ready, answered, codes = (list(column) for column in zip(*starts, strict=True))
    promises.speed(f"from start to ready, slowest of {len(starts)}, {words}", f"<= {MOST_SECONDS:.0f} s",
                   f"{max(ready):.2f} s", max(ready) <= MOST_SECONDS, ready_s=ready)  # fmt: skip
    promises.tell(f"from start to ready, median, {words}", f"{np.median(ready):.2f} s")
    promises.tell(
        f"from start to the first answer, median, {words}", f"{np.median(answered):.2f} s", answered_s=answered
    )
    promises.hold(f"exit codes when told to stop, {words}", "0", max(codes), not any(codes))


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--times", type=int, default=5)
    run("cold_start", parser, measure)


if __name__ == "__main__":
    main()
