"""A real service for tests: `fans serve` in its own processes, on a free port of this machine."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx2

FANS = Path(sys.executable).parent / "fans"
DEADLINE_S = 180  # for everything a test waits for: it only ends tests that would never end
PATIENT = {  # a slow machine must not make a service refuse requests or replace workers
    "FANS_QUEUE_MS": str(1000 * DEADLINE_S),
    "FANS_TIMEOUT_MS": str(1000 * DEADLINE_S),
    "FANS_HANG_S": str(DEADLINE_S),
}


class Running:
    """`with Running(RUN, "--workers", "2", FANS_HANG_S="1") as service:` and `service.ask([["a"]])`."""

    def __init__(self, *arguments: object, **variables: object) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("FANS_")}
        self.temporary = tempfile.mkdtemp()
        clean |= {"FANS_NOTICE_S": "0", "TMPDIR": self.temporary} | PATIENT
        self.process = subprocess.Popen(
            [FANS, "serve", "--port", "0", *map(str, arguments)],  # a port among the arguments overrides this one
            env=clean | {name: str(value) for name, value in variables.items()},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log: list[str] = []
        threading.Thread(target=self._read_log, daemon=True).start()
        self.url = self._address()
        self.http = httpx2.Client(base_url=self.url, timeout=DEADLINE_S)

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        self.log.extend(self.process.stderr)

    def _address(self) -> str:
        assert self.process.stdout is not None
        timer = threading.Timer(DEADLINE_S, self.process.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        found = re.search(r"http://\S+/", line)
        if found is None:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the service did not start: {line} {''.join(self.log[-20:])}")
        return found.group().rstrip("/")

    def ask(self, lists: list[list[object]], **more: Any) -> httpx2.Response:
        headers = more.pop("headers", None)
        return self.http.post("/v1/continue", json={"lists": lists} | more, headers=headers)

    def metric(self, name: str) -> float:
        return self.metric_as({}, name)

    def metric_as(self, headers: dict[str, str], name: str) -> float:
        """Return the sum over all samples that start with `name`."""
        lines = self.http.get("/metrics", headers=headers).text.splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))

    def workers(self) -> list[int]:
        """Return the workers: processes without children, except those that build a search index."""
        processes = descendants(self.process.pid)
        parents = {parent for _, parent in processes}
        model_hosts = {child for child, parent in processes if parent != self.process.pid and child in parents}
        return [child for child, parent in processes if parent in model_hosts]

    def folders(self) -> list[Path]:
        """Return the folder of the socket of its processes."""
        return [*Path(self.temporary).glob("fans-serve-*")]

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(DEADLINE_S)

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.http.close()
        try:
            self.stop()
        finally:
            self.process.kill()


def descendants(pid: int) -> list[tuple[int, int]]:
    """Return (process, its parent) for all descendants of `pid`."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
    found, new = [], {pid}
    while new:
        rows = [(child, parent) for child, parent in parents.items() if parent in new]
        found += rows
        new = {child for child, _ in rows}
    return found


def free_ports(count: int = 1) -> int:
    """Return the first of some free ports in a row, outside of the range that connections take theirs from."""
    while True:
        first = random.randrange(20_000, 30_000)
        with suppress(OSError), ExitStack() as taken:
            for port in range(first, first + count):
                taken.enter_context(socket.create_server(("127.0.0.1", port)))
            return first


def until(condition: Callable[[], bool], seconds: float = DEADLINE_S) -> bool:
    """Return whether the condition became true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False
