"""All deployments in memory: loaded, given workers, closed, and watched through the supervisor."""

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import Any

from fansrec.errors import BadArtifact, FansError
from fansrec.serving.processes.channel import MODEL_HOST, Channel, Message
from fansrec.serving.processes.deployment import START_SECONDS, Deployment
from fansrec.serving.processes.dispatch import Dispatcher
from fansrec.serving.processes.supervisor import Backoff, Supervisor, process_lost
from fansrec.serving.settings import Settings
from fansrec.serving.writes.store import FILE as LOG_FILE

LOAD_SECONDS = 600.0
REPORT_SECONDS = {"cpu": 2.0}  # for one worker, which is forked with the models; on other devices it loads them first


class DeploymentPool:
    """`on_model_host_lost` is called with a deployment whose model host has died."""

    def __init__(
        self, settings: Settings, dispatcher: Dispatcher, on_model_host_lost: Callable[[Deployment], None]
    ) -> None:
        self._settings, self._dispatcher, self._on_model_host_lost = settings, dispatcher, on_model_host_lost
        self._ids = itertools.count(1)
        self._deployments: dict[int, Deployment] = {}
        self._supervisor = Supervisor(settings, self._process_connected, self._supervisor_lost)
        self._backoff = Backoff(settings.worker_count)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    async def start(self) -> None:
        await self._supervisor.start()
        self.run_in_background(self._watch())

    async def close(self) -> None:
        self._closing = True
        for task in self._tasks:
            task.cancel()
        for deployment in [*self._deployments.values()]:
            self.remove(deployment)
        await self._supervisor.close()

    async def load(self, specs: list[dict[str, Any]], last: int) -> Deployment:
        """Return a deployment whose models are in memory, with the writes up to `last`, and no workers yet."""
        new = Deployment(
            next(self._ids),
            self._dispatcher,
            self._settings.worker_count,
            REPORT_SECONDS.get(self._settings.device, START_SECONDS),
            lambda deployment: self.run_in_background(self._replace_workers(deployment)),
            self._dispatcher.loop.create_future(),
        )
        self._deployments[new.id] = new
        settings, folder = self._settings, self._settings.writes
        order = {"deployment": new.id, "models": specs, "device": settings.device, "backend": settings.backend}
        order |= {"log": str(folder / LOG_FILE), "last": last} if folder else {}
        try:
            async with asyncio.timeout(LOAD_SECONDS):
                await self._supervisor.start_model_host(order)
                await new.loaded
        except BaseException as error:
            self.remove(new)
            if isinstance(error, TimeoutError):
                raise BadArtifact(f"the models were not loaded within {LOAD_SECONDS:.0f} s") from error
            raise
        return new

    async def start_workers(self, deployment: Deployment) -> None:
        """Wait for all workers of a deployment; raise BadArtifact if it does not get them."""
        deployment.active = True
        try:
            await deployment.start_workers()
        except BaseException as error:
            deployment.stop_workers()
            if isinstance(error, FansError):
                raise BadArtifact(f"the new models cannot be served: {error.on_command_line}") from error
            raise

    def remove(self, deployment: Deployment | None) -> None:
        """Close a deployment and forget it; None is ignored."""
        if deployment is not None:
            self._deployments.pop(deployment.id, None)
            deployment.close()

    def run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a task until it ends or the pool is closed."""
        if self._closing:
            work.close()
            return
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _process_connected(self, channel: Channel, message: Message) -> None:
        deployment = self._deployments.get(message["deployment"])
        if deployment is None:
            channel.close()  # its deployment was removed meanwhile
        elif message["kind"] == MODEL_HOST:
            deployment.add_model_host(channel, message["pid"], lambda: self._model_host_lost(deployment))
        elif "failed" in message:
            deployment.worker_failed(message["failed"], message["version"])
        else:
            deployment.add_worker(channel, message["pid"], message["version"])

    def _model_host_lost(self, deployment: Deployment) -> None:
        deployment.lose_model_host()
        if not self._closing:
            self._on_model_host_lost(deployment)

    def _supervisor_lost(self) -> None:
        for deployment in self._deployments.values():
            if deployment.model_host is None and not deployment.loaded.done():
                deployment.fail(process_lost())

    async def _replace_workers(self, deployment: Deployment) -> None:
        await self._backoff.wait()
        deployment.request_workers()

    async def _watch(self) -> None:
        """Replace workers and model hosts that hang, and request workers again that never reported."""
        while True:
            await asyncio.sleep(min(0.25, self._settings.hang_s / 4))
            self._dispatcher.check_workers()
            for deployment in self._deployments.values():  # also one that does not serve yet
                if deployment.model_host is not None:
                    deployment.model_host.check(self._settings.hang_s)
                deployment.request_workers()
