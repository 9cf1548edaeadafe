"""A deployment: models that are served together, the model host that has loaded them, and its workers."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fansrec.errors import BadArtifact, FansError
from fansrec.serving.processes.channel import Channel, Message
from fansrec.serving.processes.dispatch import Dispatcher, Worker
from fansrec.serving.processes.model_host import ModelHost, Models
from fansrec.serving.processes.supervisor import process_lost

START_SECONDS = 60.0  # for all workers of a version to report
RETRY_SECONDS = 1.0  # before a worker that could not start is requested again


@dataclass(eq=False)
class Deployment:
    id: int
    dispatcher: Dispatcher
    worker_count: int
    report_seconds: float  # a worker that has not reported after this time is requested again
    on_worker_lost: Callable[["Deployment"], None]
    loaded: asyncio.Future[Models]
    model_host: ModelHost | None = None
    active: bool = False  # whether it should have workers
    serving: bool = False  # whether its workers get requests
    version: int = 0  # of the models in the model host, which changes with each group of writes
    served: int = 0  # the version that the workers were forked from
    workers: set[Worker] = field(default_factory=set)
    fresh: set[Worker] = field(default_factory=set)  # those of `version`, until there are enough to replace the others
    requested: list[float] = field(default_factory=list)  # when those of `version` were requested that did not report
    retry_at: float = 0.0  # after a worker could not start, none is requested before this time
    started: asyncio.Event = field(default_factory=asyncio.Event)  # set when all workers are there, or one has failed
    failure: str | None = None  # why the latest attempt to start workers failed
    _models: Models = field(default_factory=list)  # as the workers have them
    _newest: Models = field(default_factory=list)  # as the model host has them

    @property
    def models(self) -> Models:
        return self._models

    @property
    def hashes(self) -> dict[str, str]:
        """The hashes of the models as they were read from their folders."""
        return {model["name"]: model["base"] for model in self.models}

    def request_workers(self) -> None:
        """Have the model host fork the workers that are missing; it cannot while it applies writes."""
        now = time.monotonic()
        self.requested = [since for since in self.requested if now - since < self.report_seconds]
        if self.model_host is None or not self.active or self.model_host.applying or now < self.retry_at:
            return
        there = self.workers if self.served == self.version else self.fresh
        for _ in range(self.worker_count - len(there) - len(self.requested)):
            self.requested.append(now)
            self.model_host.fork_worker()

    def add_model_host(self, channel: Channel, pid: int, on_lost: Callable[[], None]) -> None:
        self.model_host = ModelHost(channel, pid, self._receive, on_lost)

    def lose_model_host(self) -> None:
        """Report that the model host has died to the code that waits for it; the workers continue to serve."""
        lost, self.model_host = self.model_host, None
        if lost is not None:
            lost.finish_applying(process_lost())
        self.fail(process_lost())

    def _receive(self, message: Message) -> None:
        assert self.model_host is not None
        if "refused" in message:
            self.fail(BadArtifact(message["refused"]))
        elif "not_applied" in message:
            self.model_host.finish_applying(BadArtifact(message["not_applied"]))
        else:
            self._set_newest(message["models"], message["version"])
            self.model_host.finish_applying(self._newest)

    def _set_newest(self, models: Models, version: int) -> None:
        """Take note of the models that the model host has now."""
        if version != self.version:  # workers of two versions must never serve together
            self._retire_fresh_workers()
            self.requested.clear()
        self._newest, self.version = models, version
        if not self.loaded.done():
            self._models, self.served = models, version
            self.loaded.set_result(models)

    async def apply(self, last: int) -> None:
        """Have the model host apply writes to its models, and replace all workers at once by those of the new ones."""
        if self.model_host is None:
            raise process_lost()
        models = await self.model_host.apply(last)
        if self.active and self.served != self.version:
            await self.start_workers()
        self.served, self._models = self.version, models

    async def start_workers(self) -> None:
        """Wait until all workers are of the newest version; raise a FansError if one of them cannot start."""
        if self.model_host is None:
            raise process_lost()
        self.failure, self.retry_at = None, 0.0  # of an earlier attempt
        self.started.clear()
        self.request_workers()
        try:
            async with asyncio.timeout(START_SECONDS):
                await self.started.wait()
        except TimeoutError:
            raise BadArtifact(f"workers did not start within {START_SECONDS:.0f} s") from None
        if self.failure is not None:
            raise BadArtifact(self.failure)

    def add_worker(self, channel: Channel, pid: int, version: int) -> None:
        if version == self.version:
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

    def worker_failed(self, reason: str, version: int) -> None:
        """Report that a worker could not start to the code that waits for it; it is requested again later."""
        if version == self.version:
            del self.requested[:1]
            self.retry_at = time.monotonic() + RETRY_SECONDS
            self.failure = reason
            self.started.set()

    def _replace_workers(self) -> None:
        """Send requests to the fresh workers from now on, and none to the others."""
        old, self.workers, self.fresh = self.workers, self.fresh, set()
        self.served, self._models = self.version, self._newest
        if self.serving:
            for worker in self.workers:
                self.dispatcher.add_worker(worker)
        for worker in old:
            self.dispatcher.retire_worker(worker)

    def _retire_fresh_workers(self) -> None:
        fresh, self.fresh = self.fresh, set()
        for worker in fresh:
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
        self._retire_fresh_workers()
        workers, self.workers = self.workers, set()
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
        if not self.loaded.done():
            self.loaded.set_exception(error)
            self.loaded.exception()  # so that it is not logged if nobody waits for the models any more
