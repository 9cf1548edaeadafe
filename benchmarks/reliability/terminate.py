"""Stop the service under load: it must become "not ready", answer all accepted requests, and exit with 0.

    python -m benchmarks.reliability.terminate

Clients send again as soon as they are answered and leave when an answer says so (Connection: close), as clients do. A
request that is sent and never answered counts as an error, a connection that is refused does not.
"""

import argparse
import signal
import tempfile
import threading
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from benchmarks.reliability.load import Load
from benchmarks.reliability.load_process import start_load
from benchmarks.reliability.models import make_model, make_requests, size_of
from benchmarks.reliability.report import Report, argument_parser, run
from benchmarks.reliability.service import GONE, Service, service

CLIENTS = 16
EVERY = 0.005  # seconds between two readiness checks


def measure(report: Report, options: argparse.Namespace) -> None:
    size = size_of(options.quick)
    requests = [request.encoded for request in make_requests(size, 256, lists=8)]
    with tempfile.TemporaryDirectory() as folder:
        artifact = make_model(Path(folder) / "fans", size)
        for how in (signal.SIGTERM, signal.SIGINT):
            with service([artifact]) as running:
                terminate(report, running, requests, how, 1.0 if options.quick else 5.0)


def terminate(report: Report, running: Service, requests: list[bytes], how: signal.Signals, seconds: float) -> None:
    with start_load(Load(running.port, requests, 3600, connections=CLIENTS)) as under_load:
        probe = Probe(running.port)
        time.sleep(seconds)
        signaled = time.monotonic()
        running.process.send_signal(how)
        code = running.process.wait(GONE)
        gone = time.monotonic()
        probe.over.set()
        tally = under_load.end()
    name, failed = how.name, dict(tally.failed)
    refused = failed.pop("refused", 0)
    first_failure = (
        min(
            (start for start, status in zip(tally.starts, tally.statuses, strict=True) if status == 0),
            default=gone - under_load.began,
        )
        + under_load.began
    )
    others = {status: count for status, count in tally.by_status.items() if status != 200}
    report.require(f"exit code, {name}", "0", code, code == 0)
    report.require(f"accepted but not answered, {name}, of {tally.sent - refused:,}", "0", failed or 0, not failed)
    report.require(f"answers other than 200, {name}", "0", others or 0, not others)
    report.require(
        f"time from 'not ready' to the first refused connection, {name}",
        "> 0",
        f"{first_failure - probe.not_ready:.2f} s",
        probe.not_ready < first_failure,
    )
    report.note(f"time to 'not ready', {name}", f"{(probe.not_ready - signaled) * 1000:.0f} ms")
    report.note(f"time to exit, {name}", f"{gone - signaled:.2f} s")
    left = running.processes.look()
    report.require(f"processes left, {name}", "0", len(left), not left)


class Probe:
    """A load balancer: checks readiness again and again over its own connection."""

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
                self._connection.close()  # opened again by the next check


def main() -> None:
    run("terminate", argument_parser(__doc__), measure)


if __name__ == "__main__":
    main()
