"""`fans serve` in a process of its own, on a free port of this machine."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

START_S = 60.0  # on a machine with much else to do
STOP_S = 20.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Service:
    """May be stopped and started again; the address stays."""

    def __init__(self, models: Sequence[str], folder: Path, *options: str) -> None:
        self.port = free_port()
        self.log = folder / f"serve-{self.port}.log"
        self.process: subprocess.Popen[bytes] | None = None
        command = [str(Path(sys.executable).with_name("fans")), "serve", *models, "--port", str(self.port)]
        self.command = [*command, "--workers", "1", *options]
        # Whatever it leaves goes with the folder.
        kept = {"FANS_SEARCH_FOLDER": str(folder / "search"), "TMPDIR": str(folder)}
        self.environment = os.environ | kept | {"OMP_NUM_THREADS": "1"}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, env=self.environment, start_new_session=True
            )
        limit = time.monotonic() + START_S
        while not self._ready():
            if self.process.poll() is not None or time.monotonic() > limit:
                self.stop()
                raise RuntimeError(f"the service did not start:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.05)

    def _ready(self) -> bool:
        """Items are searched for once their index is built, a moment after the models are ready."""
        return self._status("/health/ready") == 200 and self._status("/v1/items?search=a") != 503

    def _status(self, path: str) -> int:
        try:
            with urllib.request.urlopen(self.address + path, timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def stop(self) -> None:
        """At once, all its processes: how it ends when asked to is tested elsewhere."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_S)
        self.process = None
