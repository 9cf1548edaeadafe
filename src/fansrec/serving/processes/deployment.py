"""One generation of models: the keeper process that has loaded them, and the workers forked from it."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fansrec.errors import FansError
from fansrec.serving.processes.channel import Line
from fansrec.serving.processes.dispatch import Dispatcher, Worker


@dataclass(eq=False)
class Generation:
    number: int
    dispatcher: Dispatcher
    wanted: int  # workers
    come_seconds: float  # a worker that has not reported after so long is asked for again
    short: Callable[["Generation"], None]  # hears that a worker was lost
    loaded: asyncio.Future[list[dict[str, Any]]]  # what `GET /v1/models` says of its models
    keeper: Line | None = None
    at_work: bool = False  # whether it shall have workers
    serving: bool = False  # whether they get requests
    workers: set[Worker] = field(default_factory=set)
    coming: list[float] = field(default_factory=list)  # when workers were asked for that have not reported yet
    manned: asyncio.Event = field(default_factory=asyncio.Event)  # it has all its workers, or will never have
    trouble: str | None = None  # why it never will

    @property
    def models(self) -> list[dict[str, Any]]:
        return self.loaded.result()

    @property
    def hashes(self) -> dict[str, str]:
        return {model["name"]: model["hash"] for model in self.models}

    def fork(self) -> None:
        """Ask for the workers that are missing."""
        now = time.monotonic()
        self.coming = [asked for asked in self.coming if now - asked < self.come_seconds]
        if self.keeper is None or not self.at_work:
            return
        for _ in range(self.wanted - len(self.workers) - len(self.coming)):
            self.coming.append(now)
            self.keeper.send({"kind": "fork"})

    def worker_came(self, line: Line, pid: int) -> None:
        del self.coming[:1]
        if not self.at_work or len(self.workers) >= self.wanted:
            line.close()  # too late: others were asked for in its place
            return
        worker = Worker(line, pid, self._worker_gone)
        line.gone = lambda: self._worker_gone(worker)
        self.workers.add(worker)
        if len(self.workers) >= self.wanted:
            self.manned.set()
        if self.serving:
            self.dispatcher.welcome(worker)

    def _worker_gone(self, worker: Worker) -> None:
        if worker in self.workers:  # not sent home
            self.workers.discard(worker)
            self.short(self)

    def serve(self) -> None:
        self.serving = True
        for worker in self.workers:
            self.dispatcher.welcome(worker)

    def send_home(self) -> None:
        """Workers end what they have begun; the models stay with the keeper."""
        self.at_work = self.serving = False
        self.manned.clear()
        workers, self.workers = self.workers, set()
        for worker in workers:
            self.dispatcher.retire(worker)

    def dismiss(self) -> None:
        self.send_home()
        if self.keeper is not None:
            self.keeper.close()

    def fail(self, error: FansError) -> None:
        """Whoever waits for it need not wait any longer."""
        self.trouble = str(error)
        self.manned.set()
        if not self.loaded.done():
            self.loaded.set_exception(error)
