"""A service that takes writes, whose processes are killed, and which is started again if none of them is left."""

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

from benchmarks.reliability.kill import all_there, until
from benchmarks.reliability.processes import Processes
from benchmarks.reliability.service import Service

WORKER, MODEL_HOST, SUPERVISOR, VALIDATOR, FRONT, ALL = (
    "worker",
    "model host",
    "supervisor",
    "validator",
    "front process",
    "all processes",
)
WEIGHTS = {WORKER: 8, MODEL_HOST: 5, SUPERVISOR: 3, FRONT: 3, ALL: 2}
WHOLE = {FRONT, ALL}  # after these the service is started again
DEADLINE = 300.0  # seconds for everything that is waited for: it only ends runs that would never end
# A busy machine must not make the service refuse requests or replace workers.
PATIENT = {"timeout_ms": 300_000, "queue_ms": 300_000, "hang_s": 300, "max_changes_per_s": 1e6}


class KilledService:
    """A service of a model; clients use `service`, which is another one after each start."""

    def __init__(self, run: Path, folder: Path, key: str) -> None:
        self._run, self._folder, self._key = run, folder, key
        self._starts = 0
        self.newest: Callable[[], int] = lambda: 0  # returns the number of the newest acknowledged write
        self.least = 0  # write that was acknowledged before the service was started again
        self.disturbed: frozenset[str] = frozenset()  # what was killed since the service was last complete
        self._before: Service | None = None
        self.service = self._start()
        self.service.wait_until_ready()

    def _start(self) -> Service:
        self._starts += 1
        folder, shared = self._folder / f"start-{self._starts}", self._folder
        folder.mkdir()
        settings = {"writes": shared / "writes", "keys": shared / "keys", "search_folder": shared / "search"}
        return Service([self._run], folder, self._key, workers=2, **settings, **PATIENT)

    @property
    def processes(self) -> Processes:
        """The processes of the service that runs now."""
        return self.service.processes

    def kill(self, kind: str, chance: random.Random) -> None:
        """Kill a random process of a kind, or all of them; without a front process the service is started again."""
        self.disturbed |= {kind}
        if kind not in WHOLE:
            until(lambda: self._kill_one(kind, chance), DEADLINE, f"a {kind} to kill")
            return
        self._end_before()
        old = self._before = self.service
        for pid in [old.process.pid] if kind == FRONT else old.processes.look():
            kill(pid)
        old.process.wait()
        self.least = self.newest()
        self.service = self._start()

    def _end_before(self) -> None:
        """Report processes that the service before this one has left behind."""
        if self._before is not None:
            self._before.end()

    def end(self) -> None:
        """Stop the service."""
        self._end_before()
        self.service.end()

    def _kill_one(self, kind: str, chance: random.Random) -> bool:
        there = self.service.processes.of(kind)
        return bool(there) and kill(chance.choice(there))

    def wait_until_complete(self) -> None:
        """Wait until a write that was acknowledged after this call is visible, and all workers are there."""
        before = self.newest()
        until(lambda: self.newest() > before, DEADLINE, "a write to be acknowledged")
        self.wait_until_visible(self.newest())
        until(lambda: all_there(self.service), DEADLINE, "all workers")
        self.disturbed = frozenset()

    def wait_until_visible(self, seq: int) -> str:
        """Wait until all workers have a write, and return the hash of their model."""
        until(lambda: self._model()[0] >= seq, DEADLINE, f"write {seq} to be visible")
        return self._model()[1]

    def _model(self) -> tuple[int, str]:
        (model,) = self.service.ask("/v1/models")[1]["models"]
        return model["seq"], model["hash"]


def kill(pid: int) -> bool:
    """Kill a process, and return whether it was there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
