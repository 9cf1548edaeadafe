"""`fans serve`, started for a script on a free port of this machine and gone when the script is."""

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

READY = 120.0  # seconds to wait for a service that is slow to start; how long it takes is measured elsewhere
INDEXED = 60.0  # and for its index of names
GONE = 60.0  # and for one that was told to stop
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Service:
    """A running service."""

    def __init__(self, models: Sequence[str | Path], folder: Path, key: str | None = None, **settings: Any) -> None:
        self.port, self.key, self.log = free_port(), key, folder / "service.log"
        command = [str(Path(sys.executable).with_name("fans")), "serve", *map(str, models), "--port", str(self.port)]
        told = {"search_folder": folder / "search", "log_level": "warning"} | settings
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FANS_")}
        environment |= {f"FANS_{name.upper()}": str(value) for name, value in told.items()}
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
        """Status and JSON (or text) of one request over a connection of its own."""
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
        """Seconds since it was started."""
        while time.monotonic() - self.began < READY:
            if self.is_ready():
                return time.monotonic() - self.began
            if self.process.poll() is not None:
                break
            time.sleep(every)
        raise RuntimeError(f"the service did not start:\n{self.told()}")

    def wait_until_searchable(self) -> None:
        """Until the index of names is built: before that, searching answers 503, as it should."""
        for _ in range(int(INDEXED / 0.1)):
            if self.ask("/v1/items?search=song")[0] != 503:
                return
            time.sleep(0.1)
        print(f"there is no index of names after {INDEXED:.0f} s; searches will answer 503", file=sys.stderr)

    def metrics(self) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
        """Every sample of /metrics: by name, then by labels."""
        samples: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
        for line in self.ask("/metrics")[1].splitlines():
            if found := SAMPLE.match(line):
                labels = tuple(sorted(LABEL.findall(found[2] or "")))
                samples.setdefault(found[1], {})[labels] = float(found[3])
        return samples

    def metric(self, name: str, **labels: str) -> float:
        """The sum of all samples of this name that have these labels."""
        wanted = set(labels.items())
        return sum(value for labels, value in self.metrics().get(name, {}).items() if wanted <= set(labels))

    def told(self, lines: int = 30) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Its exit code; whatever it leaves behind is ended, and told of."""
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
            print(f"process {pid} of the service stayed behind and is ended", file=sys.stderr)
            os.kill(pid, signal.SIGKILL)


@contextmanager
def service(models: Sequence[str | Path], **settings: Any) -> Iterator[Service]:
    """Ready when the block begins; told to stop, if it has not been, when it ends."""
    with tempfile.TemporaryDirectory(prefix="fans-service-") as folder:
        running = Service(models, Path(folder), **settings)
        try:
            running.wait_until_ready()
            yield running
        except BaseException:
            print(f"the end of the service's log:\n{running.told()}", file=sys.stderr)
            raise
        finally:
            if running.process.poll() is None:
                running.stop()
            running.end()
