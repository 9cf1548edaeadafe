"""The models that a cluster serves: the configuration that Ray gives every replica, and how a front changes it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from fansrec import errors
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes.deployment_manager import Busy, NothingToRollBackTo, report_models

Specs = list[dict[str, Any]]  # name, run, generation and, once it is known, hash of each model
# requested: Specs; current, previous: {"specs": Specs, "models": as in `GET /v1/models`} or None; scale: least and most
Config = dict[str, Any]
Prepare = Callable[[Specs], Awaitable[list[dict[str, Any]]]]  # lets all replicas read models beside the current ones
Deploy = Callable[[Config], Awaitable[None]]

PREPARE_SECONDS = 600.0  # within which replicas must have read models


def next_config(requested: Specs, models: list[dict[str, Any]], old: Config | None) -> Config:
    """Return the configuration that serves the models found for `requested`, after those of `old`."""
    current = {"specs": pin(requested, models), "models": models}
    return {"requested": requested, "current": current, "previous": old["current"] if old else None}


def pin(specs: Specs, models: list[dict[str, Any]]) -> Specs:
    """Return the specs with the folder that a link led to and the hash found there, so that replicas read the same."""
    return [spec | {"run": model["folder"], "hash": model["hash"]} for spec, model in zip(specs, models, strict=True)]


def agree(prepared: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the models that all replicas found; raise the error of a replica that refuses them."""
    for found in prepared:
        if "refused" in found:
            raise getattr(errors, found["refused"])(found["detail"])
    hashes = [[model["hash"] for model in found["models"]] for found in prepared]
    if any(other != hashes[0] for other in hashes):
        raise Busy("replicas read different models; a folder is being written, or not all nodes see the same one")
    models: list[dict[str, Any]] = prepared[0]["models"]
    return models


class ClusterDeployments:
    """The deployments of a cluster as a front knows them."""

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
                raise NothingToRollBackTo("no earlier models are known to return to; use reload instead")
            await self._read(config["previous"]["specs"])  # a replica that is new may find other models there
            new = config | {"current": config["previous"], "previous": config["current"]}
            return await self._change(config, new, "rolled-back")

    async def _read(self, specs: Specs) -> list[dict[str, Any]]:
        try:
            return await self._prepare(specs)
        except errors.FansError:
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
