"""Replicas that take requests: the application as it is on one machine, with replicas of models in place of workers."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from ray import serve
from ray.serve.handle import DeploymentHandle
from starlette.types import ASGIApp, Receive, Scope, Send

from fansrec.cluster.serving.application import APPLICATION, FRONT, MODELS, deploy
from fansrec.cluster.serving.config import PREPARE_SECONDS, Config, Places, agreed
from fansrec.cluster.serving.counts import replica, together
from fansrec.cluster.serving.fleet import Fleet
from fansrec.cluster.serving.slots import open_slots
from fansrec.serving.http.logs import setup_logs
from fansrec.serving.http.middleware import Refuse
from fansrec.serving.http.problems import Problem
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes.dispatch import Dispatcher
from fansrec.serving.run import gate_around
from fansrec.serving.service import Service
from fansrec.serving.settings import Settings

log = logging.getLogger("fansrec.serving")

COUNT_SECONDS = 5.0
MOST_TRIES = 3


class FrontService(Service):
    """A service whose models are elsewhere, and which is one of several."""

    def __init__(self, settings: Settings) -> None:
        self._fronts = serve.get_deployment_handle(FRONT, APPLICATION)
        self._models = serve.get_deployment_handle(MODELS, APPLICATION)
        super().__init__(settings, asyncio.get_running_loop(), self._holders)
        open_slots(self.dispatcher, lambda *call: self._models.answer.remote(*call), settings.worker_count)
        self.metrics.workers_wanted.set(settings.worker_count)

    def _holders(
        self, settings: Settings, metrics: Metrics, dispatcher: Dispatcher, changed: Callable[[], None]
    ) -> Fleet:
        self.fleet = Fleet(metrics, changed, self._prepare, self._deploy)
        return self.fleet

    async def _prepare(self, places: Places) -> list[dict[str, Any]]:
        prepared = self._models.broadcast("prepare", places)
        return agreed(await prepared.results_async(timeout_s=PREPARE_SECONDS))

    async def _deploy(self, config: Config) -> None:
        await asyncio.to_thread(deploy, self.settings, config)

    async def counts(self) -> bytes:
        """Those of all fronts, and what the replicas with the models take."""
        return together([*await told_by(self._fronts), *await told_by(self._models)])


async def told_by(replicas: DeploymentHandle) -> list[tuple[str, bytes]]:
    """What those that answer have counted."""
    for _ in range(MOST_TRIES):
        try:
            asked = replicas.broadcast("counts")
            told = await asked.results_async(timeout_s=COUNT_SECONDS, return_exceptions=True)
        except Exception as error:  # none can be asked, or one is silent
            told = [error]
        for lost in (one for one in told if isinstance(one, BaseException)):  # it ends at this moment
            log.warning("counts could not be had: %s", " ".join(str(lost).split())[:300])
        if had := [one for one in told if not isinstance(one, BaseException)]:
            return sorted(had)
    return []


@serve.ingress()
class Front:
    """What Ray calls."""

    def __init__(self, settings: dict[str, Any], models: DeploymentHandle) -> None:
        """`models` makes the other deployment a part of the application; calls by it would go the way that is usual in
        the process that deployed, which may be the long one."""
        own = Settings.model_validate(settings)
        setup_logs(own.log_style, own.log_level)
        self._service = FrontService(own)
        self._under_way, self._refusing = 0, False

    def __serve_build_asgi_app__(self) -> ASGIApp:
        gate = gate_around(self._service)
        gate.refuse = partial(self._refuse, gate.refuse)

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            request = scope["type"] == "http"
            self._under_way += request
            try:
                await gate(scope, receive, send)
            finally:
                self._under_way -= request

        return counted

    async def reconfigure(self, config: Config) -> None:
        self._service.fleet.adopt(config)

    async def config(self) -> Config | None:
        return self._service.fleet.config

    async def counts(self) -> tuple[str, bytes]:
        return replica(), self._service.metrics.text()

    async def drain(self, refuse: bool) -> int:
        """Be ready no longer, or take nothing any more; gives how many requests are under way."""
        self._service.draining, self._refusing = True, refuse
        return self._under_way

    def _refuse(self, refuse: Refuse, scope: Scope) -> Problem | None:
        if self._refusing and not scope["path"].startswith("/health/"):
            return Problem(503, "stopping", "The service is stopping; ask again.", retry_after=1)
        return refuse(scope)
