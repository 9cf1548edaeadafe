"""Replicas that hold the models and answer the calls of fronts: workers of the service, run by Ray."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from fansrec.cluster.serving.deployments import Config, Specs
from fansrec.cluster.serving.metrics import process_metrics
from fansrec.serving.http.logs import setup_logs
from fansrec.serving.processes.channel import Message
from fansrec.serving.settings import Settings

if TYPE_CHECKING:
    from fansrec.cluster.serving.engine import Call, CallResult


class Models:
    """One thread runs the engine; calls that arrive while it works are answered together afterwards."""

    def __init__(self, settings: dict[str, Any]) -> None:
        from fansrec.cluster.serving.engine import ReplicaEngine  # imports torch, which a deploying process lacks

        own = Settings.model_validate(settings)
        setup_logs(own.log_style, own.log_level)
        self._hang_s = own.hang_s
        self._engine = ReplicaEngine(own)
        self._engine_thread, self._reader_thread = ThreadPoolExecutor(1, "engine"), ThreadPoolExecutor(1, "reader")
        self._waiting: list[tuple[Call, asyncio.Future[CallResult]]] = []
        self._work: asyncio.Task[None] | None = None

    async def reconfigure(self, config: Config) -> None:
        """Serve the models of the configuration; Ray calls this at the start and when models change."""
        previous = config["previous"]["specs"] if config["previous"] else []
        await _run_in(self._reader_thread, self._engine.models.serve, config["current"]["specs"], previous)

    async def prepare(self, specs: Specs) -> dict[str, Any]:
        found: dict[str, Any] = await _run_in(self._reader_thread, self._engine.prepare, specs)
        return found

    async def answer(self, message: Message) -> "CallResult":
        result: asyncio.Future[CallResult] = asyncio.get_running_loop().create_future()
        self._waiting.append(((message, time.monotonic()), result))
        if self._work is None or self._work.done():
            self._work = asyncio.ensure_future(self._answer_all())
        return await result

    async def metrics(self) -> tuple[str, bytes]:
        return process_metrics()

    def check_health(self) -> None:
        """Raise if the engine hangs; Ray then replaces the replica, and fronts send its calls to another one."""
        if self._engine.silent_seconds > self._hang_s:
            raise RuntimeError(f"the engine gave no sign of life for {self._engine.silent_seconds:.0f} s")

    async def _answer_all(self) -> None:
        while self._waiting:
            taken, self._waiting = self._waiting, []
            calls, results = [call for call, _ in taken], [result for _, result in taken]
            try:
                answers = await _run_in(self._engine_thread, self._engine.answer, calls)
            except Exception as error:
                answers = [error] * len(calls)
            for answer, result in zip(answers, results, strict=True):
                if result.done():  # the front that called has gone
                    continue
                if isinstance(answer, Exception):
                    result.set_exception(answer)
                else:
                    result.set_result(answer)


async def _run_in(thread: ThreadPoolExecutor, work: Callable[..., Any], *arguments: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(thread, work, *arguments)
