"""A deployment: models that are served together, the model host that has loaded them, and its workers."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fansrec.errors import BadArtifact, FansError
from fansrec.serving.processes.channel import Channel, Message
from fansrec.serving.processes.dispatch import Dispatcher, Worker


@dataclass(eq=False)
class Deployment:
    id: int
    dispatcher: Dispatcher
    worker_count: int
    report_seconds: float  # a worker that has not reported after this time is requested again
    on_worker_lost: Callable[["Deployment"], None]
    loaded: asyncio.Future[list[dict[str, Any]]]  # the descriptions of its models, as for `GET /v1/models`
    model_host: Channel | None = None
    active: bool = False  # whether it should have workers
    serving: bool = False  # whether its workers get requests
    workers: set[Worker] = field(default_factory=set)
    requested: list[float] = field(default_factory=list)  # when workers were requested that have not reported yet
    started: asyncio.Event = field(default_factory=asyncio.Event)  # set when all workers are there, or never will be
    failure: str | None = None  # why they never will be

    @property
    def models(self) -> list[dict[str, Any]]:
        return self.loaded.result()

    @property
    def hashes(self) -> dict[str, str]:
        return {model["name"]: model["hash"] for model in self.models}

    def request_workers(self) -> None:
        """Have the model host fork the workers that are missing."""
        now = time.monotonic()
        self.requested = [since for since in self.requested if now - since < self.report_seconds]
        if self.model_host is None or not self.active:
            return
        for _ in range(self.worker_count - len(self.workers) - len(self.requested)):
            self.requested.append(now)
            self.model_host.send({"kind": "fork"})

    def add_model_host(self, channel: Channel, on_close: Callable[[], None]) -> None:
        self.model_host = channel
        channel.on_message = lambda message, content: self._models_loaded(message)
        channel.on_close = on_close

    def _models_loaded(self, message: Message) -> None:
        if "refused" in message:
            self.fail(BadArtifact(message["refused"]))
        elif not self.loaded.done():
            self.loaded.set_result(message["models"])

    def add_worker(self, channel: Channel, pid: int) -> None:
        del self.requested[:1]
        if not self.active or len(self.workers) >= self.worker_count:
            channel.close()  # too late: another worker was requested in its place
            return
        worker = Worker(channel, pid, self._worker_lost)
        channel.on_close = lambda: self._worker_lost(worker)
        self.workers.add(worker)
        if len(self.workers) >= self.worker_count:
            self.started.set()
        if self.serving:
            self.dispatcher.add_worker(worker)

    def _worker_lost(self, worker: Worker) -> None:
        if worker in self.workers:  # otherwise it was retired
            self.workers.discard(worker)
            self.on_worker_lost(self)

    def serve(self) -> None:
        """Send requests to the workers."""
        self.serving = True
        for worker in self.workers:
            self.dispatcher.add_worker(worker)

    def stop_workers(self) -> None:
        """Let the workers finish what they have begun; the models stay in the model host."""
        self.active = self.serving = False
        self.started.clear()
        workers, self.workers = self.workers, set()
        for worker in workers:
            self.dispatcher.retire_worker(worker)

    def close(self) -> None:
        self.stop_workers()
        if self.model_host is not None:
            self.model_host.close()

    def fail(self, error: FansError) -> None:
        """Report the error to the code that waits for the models or for the workers."""
        self.failure = error.on_command_line
        self.started.set()
        if not self.loaded.done():
            self.loaded.set_exception(error)
