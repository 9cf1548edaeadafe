"""The deployments of a cluster as a front knows them: which models the replicas serve, and how they are changed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from fansrec.cluster.serving.config import Config, Specs, next_config
from fansrec.errors import FansError
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes.deployment_manager import Busy, report_models

Prepare = Callable[[Specs], Awaitable[list[dict[str, Any]]]]  # lets all replicas read models beside the current ones
Deploy = Callable[[Config], Awaitable[None]]


class ClusterDeployments:
    def __init__(self, metrics: Metrics, on_change: Callable[[], None], prepare: Prepare, deploy: Deploy) -> None:
        self._metrics, self._on_change, self._prepare, self._deploy = metrics, on_change, prepare, deploy
        self._lock = asyncio.Lock()
        self.config: Config | None = None
        self.models: list[dict[str, Any]] | None = None

    @property
    def ready(self) -> bool:
        return self.models is not None

    async def start(self) -> None:
        """Do nothing: Ray starts the replicas."""

    async def close(self) -> None:
        """Do nothing: Ray stops the replicas."""

    def adopt(self, config: Config) -> None:
        """Take over the configuration that Ray gives this replica."""
        self.config, self.models = config, config["current"]["models"]
        report_models(config["current"]["models"], self._metrics)
        self._on_change()

    async def reload(self) -> list[str]:
        async with self._exclusive() as config:
            found = await self._read(config["requested"])
            return await self._change(config, config | next_config(config["requested"], found, config), "changed")

    async def roll_back(self) -> list[str]:
        async with self._exclusive() as config:
            if config["previous"] is None:
                raise Busy("no earlier models are known to return to; use reload to read the model folders")
            await self._read(config["previous"]["specs"])  # a replica that is new may find other models there
            new = config | {"current": config["previous"], "previous": config["current"]}
            return await self._change(config, new, "rolled-back")

    async def _read(self, specs: Specs) -> list[dict[str, Any]]:
        try:
            return await self._prepare(specs)
        except FansError:
            self._metrics.reloads.labels("refused").inc()
            raise

    async def _change(self, old: Config, new: Config, outcome: str) -> list[str]:
        hashes = {model["name"]: model["hash"] for model in old["current"]["models"]}
        models = new["current"]["models"]
        changed = [model["name"] for model in models if hashes.get(model["name"]) != model["hash"]]
        if changed:
            await self._deploy(new)
            self.adopt(new)
        self._metrics.reloads.labels(outcome if changed else "unchanged").inc()
        return changed

    @asynccontextmanager
    async def _exclusive(self) -> AsyncIterator[Config]:
        """Allow one change at a time; if another front changes models too, the later change counts."""
        if self._lock.locked() or self.config is None:
            raise Busy("the models are being changed at this moment; try again in a few seconds")
        async with self._lock:
            yield self.config
