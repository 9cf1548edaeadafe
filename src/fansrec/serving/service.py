"""A running service: its queue, its models, its counts, and whether it is ready."""

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from fansrec.errors import BadArtifact
from fansrec.serving.http.key_ring import KeyRing
from fansrec.serving.http.problems import Problem
from fansrec.serving.http.unsent import Unsent
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes.deployments import Generations
from fansrec.serving.processes.dispatch import Dispatcher, overload
from fansrec.serving.search.indexes import Indexes
from fansrec.serving.settings import Settings

log = logging.getLogger("fansrec.serving")

INTERNAL = ("folder", "vocabulary")  # nobody's business
FOLLOW_UP_SECONDS = 0.5
MOST_SEARCHES = 64  # waiting and running; each takes milliseconds


class Described(Protocol):
    @property
    def models(self) -> list[dict[str, Any]]: ...


class Holders(Protocol):
    """Who holds the models and changes them: processes of this machine, or replicas of a cluster."""

    @property
    def current(self) -> Described | None: ...
    @property
    def ready(self) -> bool: ...
    async def start(self) -> None: ...
    async def reload(self) -> list[str]: ...
    async def roll_back(self) -> list[str]: ...
    async def close(self) -> None: ...


Made = Callable[[Settings, Metrics, Dispatcher, Callable[[], None]], Holders]


class Service:
    def __init__(self, settings: Settings, loop: asyncio.AbstractEventLoop, holders: Made = Generations) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.keys = KeyRing(settings.keys, grace_s=settings.key_file_grace_s) if settings.keys else None
        self.unsent = Unsent(settings.max_unsent_bytes, closed=self.metrics.cut_off.inc)
        self.metrics.unsent_bytes.set_function(lambda: self.unsent.size)
        self.dispatcher = Dispatcher(settings, self.metrics, loop)
        self.generations = holders(settings, self.metrics, self.dispatcher, self.find_items)
        self.indexes = Indexes(index_folder(settings))
        self._indexed: set[str] = set()
        self._searching = 0
        self.draining = False
        self.metrics.ready.set_function(lambda: self.ready)

    async def start(self) -> None:
        await self.generations.start()

    async def close(self) -> None:
        self.indexes.close()
        await self.generations.close()

    async def counts(self) -> bytes:
        """What `GET /metrics` says."""
        return self.metrics.text()

    @property
    def ready(self) -> bool:
        return self.generations.ready and not self.draining and self._keys_readable

    @property
    def _keys_readable(self) -> bool:
        return self.keys is None or self.keys.readable

    @property
    def why_not_ready(self) -> str:
        if self.draining:
            return "the service is about to stop; ask another"
        if not self._keys_readable:
            return "the key file cannot be read, and nobody is let in; the log says why"
        return "the models are being loaded"

    @property
    def served(self) -> list[dict[str, Any]]:
        """The models as `GET /v1/models` tells them, the default first."""
        if self.generations.current is None:
            raise Problem(503, "not-ready", self.why_not_ready, headers={"Retry-After": "1"}, retry_after=1)
        return self.generations.current.models

    def named(self, name: str | None) -> dict[str, Any]:
        served = self.served
        if name is None:
            return served[0]
        for model in served:
            if model["name"] == name:
                return model
        raise Problem(404, "unknown-model", f"There is no model of that name; there are: {self._names()}.")

    def _names(self) -> str:
        return ", ".join(model["name"] for model in self.served)

    def models(self) -> dict[str, Any]:
        own = self.settings
        return {
            "default": self.served[0]["name"],
            "models": [{key: value for key, value in m.items() if key not in INTERNAL} for m in self.served],
            "limits": {
                "lists": own.max_lists,
                "items": own.max_items,
                "k": own.max_k,
                "answer_items": own.max_answer_items,
                "rule_items": own.max_rule_items,
                "body_bytes": own.max_body_bytes,
                "timeout_ms": own.timeout_ms,
            },
        }

    def find_items(self) -> None:
        """Have indexes made for the models served now, and for no others."""
        wanted = {model["vocabulary"]: Path(model["folder"]) for model in self.served}
        for key in self._indexed - {*wanted}:
            self.indexes.forget(key)
        for key, folder in wanted.items():
            self.indexes.start(key, folder)
        self._indexed = {*wanted}
        self._follow_up()

    def _follow_up(self) -> None:
        """See how the indexes are getting on, until they are there."""
        making = [key for key in self._indexed if self.indexes.get(key) is None and not self.indexes.trouble(key)]
        if making and not self.draining:
            self.dispatcher.loop.call_later(FOLLOW_UP_SECONDS, self._follow_up)

    async def found_items(self, model: dict[str, Any], text: str | None, ids: list[str], limit: int) -> list[Any]:
        """Looked up in a thread: SQLite lets others work meanwhile."""
        index = self.indexes.get(model["vocabulary"])
        if index is None:
            trouble = self.indexes.trouble(model["vocabulary"])
            detail = "Items cannot be searched; the log says why." if trouble else "Items are being indexed; try again."
            raise Problem(503, "indexing", detail, retry_after=1)
        if self._searching >= MOST_SEARCHES:
            raise overload()
        self._searching += 1
        try:
            if text is None:
                return await asyncio.to_thread(index.of_ids, ids)
            return await asyncio.to_thread(index.search, text, limit)
        except BadArtifact as error:  # its words name a place of this machine, which is nobody's business
            log.warning("searching failed: %s", error)
            raise Problem(503, "indexing", "The index is damaged and made anew; try again.", retry_after=1) from error
        finally:
            self._searching -= 1


def index_folder(settings: Settings) -> Path:
    """Where indexes are kept between runs: as told, or where the system keeps what can be made again."""
    if settings.search_folder is not None:
        return settings.search_folder
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "fansrec" / "search"
