"""Replicas that hold the models and answer what fronts send: a worker of the service, as Ray runs it."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from fansrec.cluster.serving.config import Config, Places
from fansrec.cluster.serving.counts import of_process
from fansrec.serving.http.logs import setup_logs
from fansrec.serving.processes.channel import Message
from fansrec.serving.settings import Settings

if TYPE_CHECKING:
    from fansrec.cluster.serving.desk import Answered, Call


class Models:
    """One thread has the engine; what comes while it works is taken together when it is free."""

    def __init__(self, settings: dict[str, Any]) -> None:
        from fansrec.cluster.serving.desk import Desk  # torch: whoever only deploys this class does without

        own = Settings.model_validate(settings)
        setup_logs(own.log_style, own.log_level)
        self._hang_s = own.hang_s
        self._desk = Desk(own)
        self._engine, self._reader = ThreadPoolExecutor(1, "engine"), ThreadPoolExecutor(1, "reader")
        self._waiting: list[tuple[Call, asyncio.Future[Answered]]] = []
        self._work: asyncio.Task[None] | None = None

    async def reconfigure(self, config: Config) -> None:
        """Ray calls this at the start and when models change; what was prepared takes its place at once."""
        before = config["before"]["places"] if config["before"] else []
        await _in(self._reader, self._desk.holding.serve, config["now"]["places"], before)

    async def prepare(self, places: Places) -> dict[str, Any]:
        found: dict[str, Any] = await _in(self._reader, self._desk.prepare, places)
        return found

    async def answer(self, message: Message, content: bytes) -> "Answered":
        answered: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._waiting.append(((message, content, time.monotonic()), answered))
        if self._work is None or self._work.done():
            self._work = asyncio.ensure_future(self._answer_all())
        return await answered

    async def counts(self) -> tuple[str, bytes]:
        return of_process()

    def check_health(self) -> None:
        """Asked by Ray, which replaces a replica that fails here; the calls it had are asked of another."""
        if self._desk.silent > self._hang_s:
            raise RuntimeError(f"the engine has been silent for {self._desk.silent:.0f} s")

    async def _answer_all(self) -> None:
        while self._waiting:
            taken, self._waiting = self._waiting, []
            answers = await asyncio.gather(
                _in(self._engine, self._desk.answer, [call for call, _ in taken]), return_exceptions=True
            )
            self._hand_out(taken, answers[0])

    def _hand_out(self, taken: "list[tuple[Call, asyncio.Future[Answered]]]", answers: Any) -> None:
        for place, (_, answered) in enumerate(taken):
            if answered.done():  # whoever asked has gone
                continue
            if isinstance(answers, BaseException):
                answered.set_exception(answers)
            else:
                answered.set_result(answers[place])


async def _in(threads: ThreadPoolExecutor, work: Callable[..., Any], *arguments: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(threads, work, *arguments)
