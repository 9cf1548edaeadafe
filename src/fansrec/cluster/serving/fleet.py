"""The replicas that hold the models, as a front knows them: what they serve, and how other models take their place."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fansrec.cluster.serving.config import Config, Places, following
from fansrec.errors import FansError
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes.deployments import Busy

log = logging.getLogger("fansrec.serving")

Prepare = Callable[[Places], Awaitable[list[dict[str, Any]]]]  # all replicas read models beside those they serve
Deploy = Callable[[Config], Awaitable[None]]


@dataclass(frozen=True)
class Current:
    models: list[dict[str, Any]]


class Fleet:
    def __init__(self, metrics: Metrics, changed: Callable[[], None], prepare: Prepare, deploy: Deploy) -> None:
        self._metrics, self._changed, self._prepare, self._deploy = metrics, changed, prepare, deploy
        self._lock = asyncio.Lock()
        self.config: Config | None = None
        self.current: Current | None = None

    @property
    def ready(self) -> bool:
        return self.current is not None

    async def start(self) -> None:
        """Replicas are Ray's to start."""

    async def close(self) -> None:
        """And to stop."""

    def adopt(self, config: Config) -> None:
        """Ray says which models these are."""
        self.config, self.current = config, Current(config["now"]["models"])
        self._metrics.model_info.clear()
        for model in self.current.models:
            self._metrics.model_info.labels(model["name"], model["hash"]).set(1)
        log.info("serving %s", ", ".join(f"{m['name']} ({m['hash'][:12]})" for m in self.current.models))
        self._changed()

    async def reload(self) -> list[str]:
        async with self._alone() as config:
            found = await self._read(config["asked"])
            return await self._change(config, config | following(config["asked"], found, config), "changed")

    async def roll_back(self) -> list[str]:
        async with self._alone() as config:
            if config["before"] is None:
                raise Busy("no earlier models are known to return to; reload brings those of the folders")
            await self._read(config["before"]["places"])  # or refuse: a replica that is new may find others there
            new = config | {"now": config["before"], "before": config["now"]}
            return await self._change(config, new, "rolled-back")

    async def _read(self, places: Places) -> list[dict[str, Any]]:
        try:
            return await self._prepare(places)
        except FansError:
            self._metrics.reloads.labels("refused").inc()
            raise

    async def _change(self, old: Config, new: Config, outcome: str) -> list[str]:
        hashes = {model["name"]: model["hash"] for model in old["now"]["models"]}
        models = new["now"]["models"]
        changed = [model["name"] for model in models if hashes.get(model["name"]) != model["hash"]]
        if changed:
            await self._deploy(new)
            self.adopt(new)
        self._metrics.reloads.labels(outcome if changed else "unchanged").inc()
        return changed

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[Config]:
        """One change at a time; another front may be at one too, and the later one counts."""
        if self._lock.locked() or self.config is None:
            raise Busy("models are being changed at this moment; try again in a few seconds")
        async with self._lock:
            yield self.config
