"""Replicas that take requests: the application of one machine, with replicas of models in place of workers."""

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from ray import serve
from ray.serve.handle import DeploymentHandle
from starlette.types import ASGIApp, Receive, Scope, Send

from fansrec.cluster.serving.application import APPLICATION, FRONT, MODELS, deploy
from fansrec.cluster.serving.deployments import PREPARE_SECONDS, ClusterDeployments, Config, Specs, agree
from fansrec.cluster.serving.metrics import merge_metrics, replica_name
from fansrec.serving.app import build_app
from fansrec.serving.http.logs import setup_logs
from fansrec.serving.http.middleware import Refuse
from fansrec.serving.http.problems import Problem, stopping_problem
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes.channel import Channel, Message
from fansrec.serving.processes.dispatch import Dispatcher, Worker
from fansrec.serving.service import Service
from fansrec.serving.settings import Settings

log = logging.getLogger("fansrec.serving")

METRICS_SECONDS = 5.0
MAX_ATTEMPTS = 3
REOPEN_SECONDS = 0.05  # before the slot of a lost call is used again, so that Ray can notice the dead replica

CallReplica = Callable[[Message], Any]  # awaited, returns the packed replies


class Slot:
    """Room for one call to the replicas that hold the models, with the interface of a Channel to a worker.

    So queue, limits, deadlines and retries are those of the service on one machine; Ray chooses the replica.
    """

    def __init__(self, call: CallReplica) -> None:
        self._call = call
        self._task: asyncio.Task[None] | None = None
        self.on_message: Callable[[Message, bytes], None] = lambda message, content: None
        self.on_close: Callable[[], None] = lambda: None

    def send(self, message: Message) -> None:
        self._task = asyncio.ensure_future(self._run(with_durations(message)))

    def close(self) -> None:
        """Do nothing: a call in progress ends by itself."""

    async def _run(self, message: Message) -> None:
        try:
            replies, contents = await self._call(message)
        except Exception as error:  # the replica died, or was stopped before it answered: another one is called
            log.warning("a call was lost: %s", " ".join(str(error).split())[:300] or type(error).__name__)
            self.on_close()
        else:
            self.on_message({"kind": "replies", "replies": replies}, contents)


def open_slots(dispatcher: Dispatcher, call: CallReplica, count: int) -> None:
    """Add slots to the workers of the dispatcher; the slot of a lost call is replaced."""

    def reopen(worker: Worker) -> None:
        dispatcher.loop.call_later(REOPEN_SECONDS, open_slots, dispatcher, call, 1)

    for _ in range(count):
        dispatcher.add_worker(Worker(cast(Channel, Slot(call)), 0, reopen))


def with_durations(message: Message) -> Message:
    """Return the message with moments as age and time left, since another machine has another clock."""
    now = time.monotonic()
    jobs = [job._replace(since=now - job.since, deadline=job.deadline - now) for job in message["jobs"]]
    return message | {"jobs": jobs}


class FrontService(Service):
    """A service whose models are in other processes, and which is one of several."""

    def __init__(self, settings: Settings) -> None:
        self._fronts = serve.get_deployment_handle(FRONT, APPLICATION)
        self._models = serve.get_deployment_handle(MODELS, APPLICATION)
        super().__init__(settings, asyncio.get_running_loop(), self._create_deployments)
        open_slots(self.dispatcher, lambda message: self._models.answer.remote(message), settings.worker_count)
        self.metrics.workers_wanted.set(settings.worker_count)

    def _create_deployments(
        self, settings: Settings, metrics: Metrics, dispatcher: Dispatcher, on_change: Callable[[], None]
    ) -> ClusterDeployments:
        self.cluster = ClusterDeployments(metrics, on_change, self._prepare, self._deploy)
        return self.cluster

    async def _prepare(self, specs: Specs) -> list[dict[str, Any]]:
        prepared = self._models.broadcast("prepare", specs)
        return agree(await prepared.results_async(timeout_s=PREPARE_SECONDS))

    async def _deploy(self, config: Config) -> None:
        await asyncio.to_thread(deploy, self.settings, config)

    async def metrics_text(self) -> bytes:
        """Return the metrics of all fronts, and the resources that the model replicas use."""
        return merge_metrics([*await collect_metrics(self._fronts), *await collect_metrics(self._models)])


async def collect_metrics(replicas: DeploymentHandle) -> list[tuple[str, bytes]]:
    """Return the metrics of the replicas that answer."""
    for _ in range(MAX_ATTEMPTS):
        try:
            calls = replicas.broadcast("metrics")
            results = await calls.results_async(timeout_s=METRICS_SECONDS, return_exceptions=True)
        except Exception as error:  # none can be called, or one does not answer
            results = [error]
        for lost in (result for result in results if isinstance(result, BaseException)):  # a replica that is ending
            log.warning("the metrics of a replica are missing: %s", " ".join(str(lost).split())[:300])
        if texts := [result for result in results if not isinstance(result, BaseException)]:
            return sorted(texts)
    return []


@serve.ingress()
class Front:
    """The class that Ray deploys."""

    def __init__(self, settings: dict[str, Any], models: DeploymentHandle) -> None:
        """`models` only makes the other deployment a part of the application. Calls through this handle would be routed
        as in the process that deployed, which may be the slow way."""
        own = Settings.model_validate(settings)
        setup_logs(own.log_style, own.log_level)
        self._service = FrontService(own)
        self._in_progress, self._refusing = 0, False

    def __serve_build_asgi_app__(self) -> ASGIApp:
        app = build_app(self._service)
        app.refuse = partial(self._refuse, app.refuse)

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            is_request = scope["type"] == "http"
            self._in_progress += is_request
            try:
                await app(scope, receive, send)
            finally:
                self._in_progress -= is_request

        return counted

    async def reconfigure(self, config: Config) -> None:
        self._service.cluster.adopt(config)

    async def config(self) -> Config | None:
        return self._service.cluster.config

    async def metrics(self) -> tuple[str, bytes]:
        return replica_name(), self._service.metrics.text()

    async def drain(self, refuse: bool) -> int:
        """Report not ready, with `refuse` also refuse all requests; return the number of requests in progress."""
        self._service.draining, self._refusing = True, refuse
        return self._in_progress

    def _refuse(self, refuse: Refuse, scope: Scope) -> Problem | None:
        if self._refusing and not scope["path"].startswith("/health/"):
            return stopping_problem()
        return refuse(scope)
