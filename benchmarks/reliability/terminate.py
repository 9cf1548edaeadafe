"""Told to stop under load: first it says that it is not ready, then it answers all it has accepted, then it leaves.

    python -m benchmarks.reliability.terminate

The clients ask again as soon as they are answered and go away when an answer says so (Connection: close), as clients
do; a request that is sent and never answered counts, a connection that is refused does not.
"""

import argparse
import signal
import tempfile
import threading
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from benchmarks.reliability.apart import apart
from benchmarks.reliability.load import Load
from benchmarks.reliability.models import make_model, make_requests, size_of
from benchmarks.reliability.promises import Promises, options, run
from benchmarks.reliability.service import GONE, Service, service

CLIENTS = 16
EVERY = 0.005  # seconds between two questions whether it is ready


def measure(promises: Promises, asked: argparse.Namespace) -> None:
    size = size_of(asked.quick)
    requests = [asked.request for asked in make_requests(size, 256, lists=8)]
    with tempfile.TemporaryDirectory() as folder:
        artifact = make_model(Path(folder) / "fans", size)
        for how in (signal.SIGTERM, signal.SIGINT):
            with service([artifact]) as running:
                terminate(promises, running, requests, how, 1.0 if asked.quick else 5.0)


def terminate(promises: Promises, running: Service, requests: list[bytes], how: signal.Signals, seconds: float) -> None:
    with apart(Load(running.port, requests, 3600, connections=CLIENTS)) as under_load:
        probe = Probe(running.port)
        time.sleep(seconds)
        told = time.monotonic()
        running.process.send_signal(how)
        code = running.process.wait(GONE)
        gone = time.monotonic()
        probe.over.set()
        tally = under_load.end()
    name, failed = how.name, dict(tally.failed)
    refused = failed.pop("refused", 0)
    first_failure = min((start for start, status in zip(tally.starts, tally.statuses, strict=True) if status == 0),
                        default=gone - under_load.began) + under_load.began  # fmt: skip
    others = {status: count for status, count in tally.by_status.items() if status != 200}
    promises.hold(f"exit code, {name}", "0", code, code == 0)
    promises.hold(f"accepted but not answered, {name}, of {tally.sent - refused:,}", "0", failed or 0, not failed)
    promises.hold(f"answered otherwise than 200, {name}", "0", others or 0, not others)
    promises.hold(f"'not ready' came before the first refused connection by, {name}", "> 0",
                  f"{first_failure - probe.not_ready:.2f} s", probe.not_ready < first_failure)  # fmt: skip
    promises.tell(f"'not ready' after, {name}", f"{(probe.not_ready - told) * 1000:.0f} ms")
    promises.tell(f"gone after, {name}", f"{gone - told:.2f} s")
    left = running.processes.look()
    promises.hold(f"processes left, {name}", "0", len(left), not left)


class Probe:
    """What a load balancer does, on a connection of its own: ask again and again whether it is ready."""

    def __init__(self, port: int) -> None:
        self.not_ready, self.over = float("inf"), threading.Event()
        self._connection = HTTPConnection("127.0.0.1", port, timeout=5)
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self.over.wait(EVERY):
            try:
                self._connection.request("GET", "/health/ready")
                answer = self._connection.getresponse()
                answer.read()
                if answer.status == 503:
                    self.not_ready = min(self.not_ready, time.monotonic())
            except (OSError, HTTPException):
                self._connection.close()  # opened again by the next question


def main() -> None:
    run("terminate", options(__doc__), measure)


if __name__ == "__main__":
    main()
