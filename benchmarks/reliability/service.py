"""Run `fans serve` for a script on a free port of this machine, for as long as the script runs."""

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from benchmarks.reliability.processes import MARK, Processes

READY = 120.0  # seconds to wait for the service to start; the time it takes is measured in cold_start
INDEXED = 60.0  # seconds to wait for its search index
GONE = 60.0  # seconds to wait for it to exit
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Service:
    """A running service."""

    def __init__(
        self, models: Sequence[str | Path], folder: Path, key: str | None = None, port: int = 0, **settings: Any
    ) -> None:
        self.port, self.key, self.log = port or free_port(), key, folder / "service.log"
        command = [str(Path(sys.executable).with_name("fans")), "serve", *map(str, models), "--port", str(self.port)]
        values = {"search_folder": folder / "search", "log_level": "warning"} | settings
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FANS_")}
        environment |= {f"FANS_{name.upper()}": str(value) for name, value in values.items()}
        mark, nothing = secrets.token_hex(8), subprocess.DEVNULL
        self.began = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdin=nothing, stdout=log, stderr=log, env=environment | {MARK: mark}, start_new_session=True
            )
        self.processes = Processes(self.process.pid, mark)

    def ask(
        self, path: str, body: Any = None, method: str | None = None, timeout: float = 30, **headers: str
    ) -> tuple[int, Any]:
        """Return status and JSON (or text) of one request over a new connection."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        fields = {"Content-Type": "application/json"} if content is not None else {}
        if self.key:
            fields["Authorization"] = f"Bearer {self.key}"
        connection = HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method or ("GET" if body is None else "POST"), path, content, fields | headers)
            answer = connection.getresponse()
            read = answer.read()
            is_json = "json" in (answer.getheader("Content-Type") or "")
            return answer.status, json.loads(read) if is_json else read.decode(errors="replace")
        finally:
            connection.close()

    def is_ready(self) -> bool:
        try:
            return self.ask("/health/ready", timeout=2)[0] == 200
        except (OSError, HTTPException):
            return False

    def wait_until_ready(self, every: float = 0.02) -> float:
        """Wait and return the seconds since the start."""
        while time.monotonic() - self.began < READY:
            if self.is_ready():
                return time.monotonic() - self.began
            if self.process.poll() is not None:
                break
            time.sleep(every)
        raise RuntimeError(f"the service did not start:\n{self.log_tail()}")

    def wait_until_searchable(self) -> None:
        """Wait until the search index is built; before that, searching answers 503."""
        for _ in range(int(INDEXED / 0.1)):
            if self.ask("/v1/items?search=song")[0] != 503:
                return
            time.sleep(0.1)
        print(f"no search index after {INDEXED:.0f} s; searches will answer 503", file=sys.stderr)

    def metrics(self) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
        """Return every sample of /metrics, by name, then by labels."""
        samples: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
        for line in self.ask("/metrics")[1].splitlines():
            if found := SAMPLE.match(line):
                labels = tuple(sorted(LABEL.findall(found[2] or "")))
                samples.setdefault(found[1], {})[labels] = float(found[3])
        return samples

    def metric(self, name: str, **labels: str) -> float:
        """Return the sum of all samples of this name that have these labels."""
        required = set(labels.items())
        return sum(value for labels, value in self.metrics().get(name, {}).items() if required <= set(labels))

    def log_tail(self, lines: int = 30) -> str:
        """Return the last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Stop the service and return its exit code; processes that it leaves behind are killed and reported."""
        self.processes.look()
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(GONE)
        finally:
            self.end()

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for _ in range(50):
            if not self.processes.look():
                return
            time.sleep(0.1)
        for pid in self.processes.look():
            print(f"process {pid} of the service was left behind and is killed", file=sys.stderr)
            os.kill(pid, signal.SIGKILL)


@contextmanager
def service(models: Sequence[str | Path], **settings: Any) -> Iterator[Service]:
    """Run a service that is ready when the block begins and stopped when it ends."""
    with tempfile.TemporaryDirectory(prefix="fans-service-") as folder:
        running = Service(models, Path(folder), **settings)
        try:
            running.wait_until_ready()
            yield running
        except BaseException:
            print(f"last lines of the service's log:\n{running.log_tail()}", file=sys.stderr)
            raise
        finally:
            if running.process.poll() is None:
                running.stop()
            running.end()
