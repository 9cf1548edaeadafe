"""The current and the previous deployment of a service: start, reload, rollback, and recovery of a lost model host."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fansrec.errors import FansError
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes.deployment import Deployment
from fansrec.serving.processes.deployment_pool import DeploymentPool
from fansrec.serving.processes.dispatch import Dispatcher
from fansrec.serving.processes.live_updates import LiveUpdates
from fansrec.serving.settings import Settings
from fansrec.serving.writes.store import WriteStore

log = logging.getLogger("fansrec.serving")

RETRY_SECONDS = 5.0  # before models whose model host was lost are loaded again after a failure


class Busy(FansError):
    """An operation that is not possible at this moment."""


class NothingToRollBackTo(Busy):
    """A rollback of a service that has no earlier models."""


class DeploymentManager:
    """`on_change` is called when other models are served than before."""

    def __init__(
        self, settings: Settings, metrics: Metrics, dispatcher: Dispatcher, on_change: Callable[[], None]
    ) -> None:
        self._specs = [spec.model_dump(mode="json") for spec in settings.models]
        self._metrics, self._on_change = metrics, on_change
        self._pool = DeploymentPool(settings, dispatcher, self._model_host_lost)
        self._lock = asyncio.Lock()
        self._switching = asyncio.Lock()  # held while other models are served, or the same ones take writes
        self._writes: LiveUpdates | None = None
        self.current: Deployment | None = None
        self.previous: Deployment | None = None
        metrics.workers_wanted.set(settings.worker_count)

    @property
    def models(self) -> list[dict[str, Any]] | None:
        """The descriptions of the models that are served, or None before the first ones are."""
        return self.current.models if self.current else None

    @property
    def ready(self) -> bool:
        return self.current is not None and bool(self.current.workers)

    def take_writes(self, store: WriteStore) -> None:
        """Have all models follow the log of a store; called before `start`."""
        self._writes = LiveUpdates(store, self._metrics, self._apply_to_current)

    async def start(self) -> None:
        """Start the first deployment; a model that cannot be loaded raises the FansError that says why."""
        await self._pool.start()
        await self._switch_to(await self._load(self._specs))
        if self._writes is not None:
            self._pool.run_in_background(self._writes.run())
            async with self._lock:
                await self._drop_contained()

    async def reload(self) -> list[str]:
        """Read the model folders again; return the names of the models that have changed."""
        async with self._exclusive():
            try:
                new = await self._load(self._specs)
                changed = self._changed_models(new)
                if changed:
                    dropped, self.previous = self.previous, await self._switch_to(new)
                    self._pool.remove(dropped)
                else:
                    self._pool.remove(new)
            except FansError:
                self._metrics.reloads.labels("refused").inc()
                raise
            await self._drop_contained()
            self._metrics.reloads.labels("changed" if changed else "unchanged").inc()
            return changed

    async def roll_back(self) -> list[str]:
        """Return to the models before the last reload, which are still in memory."""
        async with self._exclusive():
            if self.previous is None or self.previous.model_host is None:
                raise NothingToRollBackTo("no earlier models are in memory to return to; use reload instead")
            changed = self._changed_models(self.previous)
            self.previous = await self._switch_to(self.previous)
            self._metrics.reloads.labels("rolled-back").inc()
            return changed

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def _exclusive(self) -> AsyncIterator[None]:
        """Allow one change of the deployment at a time; refuse a second one instead of letting it wait."""
        if self._lock.locked():
            raise Busy("the models are being changed at this moment; try again in a few seconds")
        async with self._lock:
            yield

    async def _load(self, specs: list[dict[str, Any]]) -> Deployment:
        return await self._pool.load(specs, 0 if self._writes is None else self._writes.last)

    async def _apply_to_current(self, last: int) -> list[dict[str, Any]]:
        """Apply the writes up to `last` to the models that are served; return their descriptions."""
        async with self._switching:
            if self.current is None:
                return []
            await self.current.apply(last)
            return self.current.models

    async def _drop_contained(self) -> None:
        """Remove the writes from the log that all models contain, as far as `fans compact` has asked for it."""
        if self._writes is not None and self.current is not None:
            previous = self.previous if self.previous is not None and self.previous.model_host is not None else None
            await self._writes.drop_contained(self.current.models, previous.models if previous else [])

    def _changed_models(self, new: Deployment) -> list[str]:
        old = self.current.hashes if self.current else {}
        return [name for name, value in new.hashes.items() if old.get(name) != value]

    async def _switch_to(self, new: Deployment) -> Deployment | None:
        """Start the workers of `new` before those of the current deployment stop; return the old deployment."""
        async with self._switching:
            try:
                if self._writes is not None:
                    await new.apply(self._writes.last)  # those since it was loaded, or was served the last time
                await self._pool.start_workers(new)
            except BaseException:  # also if its process is lost
                if new is not self.previous:
                    self._pool.remove(new)
                raise
            old, self.current = self.current, new
            if old is not None:
                old.stop_workers()
            new.serve()
        report_models(new.models, self._metrics)
        self._on_change()
        return old

    def _model_host_lost(self, deployment: Deployment) -> None:
        if deployment is self.current:
            log.error("the model host is lost; loading its models again")
            self._pool.run_in_background(self._replace_model_host())

    async def _replace_model_host(self) -> None:
        """Load the same models again while the workers of the lost model host continue to serve."""
        while (current := self.current) is not None and current.model_host is None:
            try:
                async with self._exclusive():
                    self._pool.remove(await self._switch_to(await self._load_again(current)))
            except FansError as error:
                log.error("the models cannot be loaded again: %s", error)
                await asyncio.sleep(RETRY_SECONDS)

    async def _load_again(self, old: Deployment) -> Deployment:
        """Load the models of `old` from the folders that they were read from, or else what the settings name now."""
        folders = {model["name"]: model["folder"] for model in old.models}
        try:
            new = await self._load([spec | {"run": folders[spec["name"]]} for spec in self._specs])
            if new.hashes == old.hashes:
                return new
            self._pool.remove(new)
        except FansError as error:
            log.warning("the models that are served are no longer in their folders (%s)", error)
        log.warning("reading the models that the service was started with instead")
        return await self._load(self._specs)


def report_models(models: list[dict[str, Any]], metrics: Metrics) -> None:
    """Log which models are served and put them into the metrics."""
    metrics.model_info.clear()
    for model in models:
        metrics.model_info.labels(model["name"], model.get("base", model["hash"])).set(1)
    log.info("serving %s", ", ".join(f"{model['name']} ({model['hash'][:12]})" for model in models))
