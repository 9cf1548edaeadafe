"""A deployment: models that are served together, the model host that has loaded them, and its workers."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fansrec.errors import BadArtifact, FansError
from fansrec.serving.processes.channel import APPLY, Channel, Message
from fansrec.serving.processes.dispatch import Dispatcher, Worker
from fansrec.serving.processes.supervisor import process_lost

RENEW_SECONDS = 60.0  # for workers of a new version to replace the others


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
    version: int = 0  # of the models in the model host, which changes with each group of writes
    served: int = 0  # the version that the workers were forked from
    workers: set[Worker] = field(default_factory=set)
    fresh: set[Worker] = field(default_factory=set)  # those of `version`, until there are enough to replace the others
    requested: list[float] = field(default_factory=list)  # when workers were requested that have not reported yet
    started: asyncio.Event = field(default_factory=asyncio.Event)  # set when all workers are there, or never will be
    failure: str | None = None  # why they never will be
    _models: list[dict[str, Any]] = field(default_factory=list)  # as the workers have them
    _applying: asyncio.Future[list[dict[str, Any]]] | None = None

    @property
    def models(self) -> list[dict[str, Any]]:
        return self._models

    @property
    def hashes(self) -> dict[str, str]:
        """The hashes of the models as they were read from their folders."""
        return {model["name"]: model["base"] for model in self.models}

    def request_workers(self) -> None:
        """Have the model host fork the workers that are missing."""
        now = time.monotonic()
        self.requested = [since for since in self.requested if now - since < self.report_seconds]
        if self.model_host is None or not self.active:
            return
        there = self.workers if self.served == self.version else self.fresh
        for _ in range(self.worker_count - len(there) - len(self.requested)):
            self.requested.append(now)
            self.model_host.send({"kind": "fork"})

    def add_model_host(self, channel: Channel, on_close: Callable[[], None]) -> None:
        self.model_host = channel
        channel.on_message = lambda message, content: self._receive(message)
        channel.on_close = on_close

    def _receive(self, message: Message) -> None:
        if "refused" in message:
            self.fail(BadArtifact(message["refused"]))
        elif "not_applied" in message:
            self._finish_applying(BadArtifact(message["not_applied"]))
        elif not self.loaded.done():
            self._models, self.version = message["models"], message["version"]
            self.served = self.version
            self.loaded.set_result(message["models"])
        else:
            self.version = message["version"]
            self._finish_applying(message["models"])

    async def apply(self, last: int) -> None:
        """Have the model host apply writes to its models, and replace all workers at once by those of the new ones."""
        if self.model_host is None:
            raise process_lost()
        self._applying = asyncio.get_running_loop().create_future()
        self.model_host.send({"kind": APPLY, "last": last})
        models = await self._applying
        if self.active and self.served != self.version:
            await self._renew_workers()
        self.served, self._models = self.version, models

    async def _renew_workers(self) -> None:
        """Wait until workers of the newest version have replaced the others."""
        self.started.clear()
        self.request_workers()
        try:
            async with asyncio.timeout(RENEW_SECONDS):
                await self.started.wait()
        except TimeoutError:
            raise BadArtifact(f"workers with them did not start within {RENEW_SECONDS:.0f} s") from None
        if self.failure is not None:
            raise BadArtifact(self.failure)

    def _finish_applying(self, result: list[dict[str, Any]] | FansError) -> None:
        if self._applying is None or self._applying.done():
            return
        if isinstance(result, FansError):
            self._applying.set_exception(result)
        else:
            self._applying.set_result(result)

    def add_worker(self, channel: Channel, pid: int, version: int) -> None:
        del self.requested[:1]
        group = self.workers if version == self.served else self.fresh
        if not self.active or version not in (self.served, self.version) or len(group) >= self.worker_count:
            channel.close()  # too late: another worker was requested in its place
            return
        worker = Worker(channel, pid, self._worker_lost)
        channel.on_close = lambda: self._worker_lost(worker)
        group.add(worker)
        if self.serving and group is self.workers:
            self.dispatcher.add_worker(worker)
        if len(self.fresh) >= self.worker_count:
            self._replace_workers()
        if self.served == self.version and len(self.workers) >= self.worker_count:
            self.started.set()

    def _replace_workers(self) -> None:
        """Send requests to the fresh workers from now on, and none to the others."""
        old, self.workers, self.fresh = self.workers, self.fresh, set()
        self.served = self.version
        if self.serving:
            for worker in self.workers:
                self.dispatcher.add_worker(worker)
        for worker in old:
            self.dispatcher.retire_worker(worker)

    def _worker_lost(self, worker: Worker) -> None:
        if worker in self.workers or worker in self.fresh:  # otherwise it was retired
            self.workers.discard(worker)
            self.fresh.discard(worker)
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
        workers, self.workers, self.fresh = self.workers | self.fresh, set(), set()
        self.served = self.version
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
        self._finish_applying(error)
        if not self.loaded.done():
            self.loaded.set_exception(error)
