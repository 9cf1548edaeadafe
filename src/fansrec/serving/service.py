"""A running service: its dispatcher, deployments, search indexes, keys and metrics, and whether it is ready."""

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from fansrec.errors import BadArtifact
from fansrec.serving.events.segments import FOLDER
from fansrec.serving.events.store import open_events
from fansrec.serving.http.key_ring import KeyRing
from fansrec.serving.http.problems import Problem
from fansrec.serving.http.unread_answers import UnreadAnswers
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes.deployment_manager import DeploymentManager
from fansrec.serving.processes.dispatch import Dispatcher
from fansrec.serving.search.indexes import Indexes
from fansrec.serving.settings import Settings
from fansrec.serving.split import Split
from fansrec.serving.validation.validator import Validator
from fansrec.serving.writes.store import open_store

log = logging.getLogger("fansrec.serving")

INTERNAL = ("folder", "vocabulary", "base", "folded")  # fields of a model's description that clients do not get
INDEX_CHECK_SECONDS = 0.5


class Deployments(Protocol):
    """What holds the models and changes them: processes of this machine, or replicas of a cluster."""

    @property
    def models(self) -> list[dict[str, Any]] | None: ...
    @property
    def ready(self) -> bool: ...
    async def start(self) -> None: ...
    async def reload(self) -> list[str]: ...
    async def roll_back(self) -> list[str]: ...
    async def close(self) -> None: ...


CreateDeployments = Callable[[Settings, Metrics, Dispatcher, Callable[[], None]], Deployments]


class Service:
    def __init__(
        self, settings: Settings, loop: asyncio.AbstractEventLoop, create: CreateDeployments = DeploymentManager
    ) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.keys = KeyRing(settings.keys, grace_s=settings.key_file_grace_s) if settings.keys else None
        self.unread = UnreadAnswers(settings.max_unsent_bytes, on_close=self.metrics.cut_off.inc)
        self.metrics.unsent_bytes.set_function(lambda: self.unread.size)
        self.dispatcher = Dispatcher(settings, self.metrics, loop)
        self.validator = Validator(settings, self.dispatcher.load.body_bytes)
        self.deployments = create(settings, self.metrics, self.dispatcher, self.update_indexes)
        self.indexes = Indexes(index_folder(settings))
        self.split = Split(settings.split, settings.split_salt) if settings.split else None
        self.events = open_events(settings.writes / FOLDER, settings.events_bytes) if settings.writes else None
        self.writes = open_store(settings, self.metrics) if settings.writes else None
        if self.writes is not None and isinstance(self.deployments, DeploymentManager):
            self.deployments.take_writes(self.writes)
        self.draining = False
        self.metrics.ready.set_function(lambda: self.ready)

    async def start(self) -> None:
        await self.deployments.start()

    async def close(self) -> None:
        self.indexes.close()
        if self.events is not None:
            self.events.close()
        if self.writes is not None:
            self.writes.close()
        await self.validator.close()
        await self.deployments.close()

    async def metrics_text(self) -> bytes:
        """Return the answer to `GET /metrics`."""
        return self.metrics.text()

    @property
    def ready(self) -> bool:
        return self.deployments.ready and not self.draining and self._keys_readable

    @property
    def _keys_readable(self) -> bool:
        return self.keys is None or self.keys.readable

    @property
    def not_ready_reason(self) -> str:
        if self.draining:
            return "the service is about to stop; use another one"
        if not self._keys_readable:
            return "the key file cannot be read, and every key is refused; the log says why"
        return "the models are being loaded"

    @property
    def models(self) -> list[dict[str, Any]]:
        """The descriptions of the models, the default first."""
        models = self.deployments.models
        if models is None:
            raise Problem(503, "not-ready", self.not_ready_reason, headers={"Retry-After": "1"}, retry_after=1)
        return models

    def model_named(self, name: str | None) -> dict[str, Any]:
        """Return the description of a model, of the default one if `name` is None."""
        models = self.models
        if name is None:
            return models[0]
        for model in models:
            if model["name"] == name:
                return model
        names = ", ".join(model["name"] for model in models)
        raise Problem(404, "unknown-model", f"There is no model of that name; the models are: {names}.")

    @property
    def takes_writes(self) -> bool:
        """Whether any of the models can be updated."""
        return any(model["seq"] is not None for model in self.models)

    def model_for(self, name: str | None, client: str | None) -> dict[str, Any]:
        """Return the description of the model that continues the lists of a request, and count the request."""
        chosen = "default" if name is None else "named"
        if name is None and client is not None and self.split is not None:
            name, chosen = self.split.assign(client), "split"
        model = self.model_named(name)
        self.metrics.model_requests.labels(model["name"], chosen).inc()
        return model

    def describe(self) -> dict[str, Any]:
        """Return the answer to `GET /v1/models`."""
        settings = self.settings
        return {
            "default": self.models[0]["name"],
            "models": [{key: value for key, value in m.items() if key not in INTERNAL} for m in self.models],
            "split": self.split.shares if self.split else None,
            "events": self.events is not None,
            "writes": self.writes.describe() if self.writes else None,
            "limits": {
                "lists": settings.max_lists,
                "items": settings.max_items,
                "k": settings.max_k,
                "answer_items": settings.max_answer_items,
                "rule_items": settings.max_rule_items,
                "events": settings.max_events,
                "changes": settings.max_changes,
                "body_bytes": settings.max_body_bytes,
                "timeout_ms": settings.timeout_ms,
            },
        }

    def update_indexes(self) -> None:
        """Have search indexes built for the models that are served now, and drop the others."""
        self.indexes.update({model["vocabulary"]: Path(model["folder"]) for model in self.models})
        self._check_indexes()

    def _check_indexes(self) -> None:
        """Check repeatedly whether the indexes are built."""
        if self.indexes.is_building() and not self.draining:
            self.dispatcher.loop.call_later(INDEX_CHECK_SECONDS, self._check_indexes)

    async def find_items(
        self, model: dict[str, Any], text: str | None, ids: list[str], limit: int, category: str | None = None
    ) -> list[Any]:
        """Return items by text, or by ids if `text` is None; in a thread, since SQLite releases Python's lock."""
        index = self.indexes.get(model["vocabulary"])
        if index is None:
            failed = self.indexes.failure(model["vocabulary"])
            detail = "Items cannot be searched; the log says why." if failed else "Items are being indexed; try again."
            raise Problem(503, "indexing", detail, retry_after=1)
        with self.dispatcher.load.searches.reserve():
            try:
                if text is None:
                    return await asyncio.to_thread(index.of_ids, ids)
                return await asyncio.to_thread(index.search, text, limit, category)
            except BadArtifact as error:  # its message names a path of this machine, which clients must not see
                log.warning("search failed: %s", error)
                detail = "The index is damaged and is built again; try again."
                raise Problem(503, "indexing", detail, retry_after=1) from error


def index_folder(settings: Settings) -> Path:
    """Return the folder of the search indexes: that of the settings, or one in the user's cache."""
    if settings.search_folder is not None:
        return settings.search_folder
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "fansrec" / "search"
