"""The front process's side of validation: parses small bodies itself, and has large ones parsed by a process."""

import asyncio
import contextlib
import itertools
import logging
import os
import socket
import sys
from asyncio.subprocess import Process
from typing import Any

from fansrec.serving.http.problems import Problem, deadline_problem
from fansrec.serving.processes.channel import Channel, Message
from fansrec.serving.processes.load_limits import Budget
from fansrec.serving.processes.supervisor import ONE_THREAD
from fansrec.serving.settings import Settings
from fansrec.serving.validation.parsers import make_parsers

log = logging.getLogger("fansrec.serving")

MODULE = "fansrec.serving.validation.process"
MAX_ATTEMPTS = 2  # of a body with which the process dies


class ProcessLost(Exception):
    """The process died or hung before it answered."""


class Validator:
    """Parses the bodies of requests. The process is started with the first large body; `memory` limits those it has."""

    def __init__(self, settings: Settings, memory: Budget) -> None:
        self._parsers, self._settings, self._memory = make_parsers(settings), settings, memory
        self._starting = asyncio.Lock()
        self._process: ValidationProcess | None = None

    async def parse(self, kind: str, body: bytes, timeout_s: float | None = None) -> Any:
        """Return the fields of a request; raise a Problem if it is not valid, or not parsed in time."""
        if len(body) <= self.max_inline_bytes(kind):
            return self.parse_inline(kind, body)
        with self._memory.reserve(len(body)):
            try:
                async with asyncio.timeout(timeout_s):
                    return await self._parse_large(kind, body)
            except TimeoutError:
                raise deadline_problem() from None

    def parse_inline(self, kind: str, body: bytes) -> Any:
        """Return the fields of a request with a small body; raise a Problem if it is not valid."""
        return self._parsers[kind](body)

    def max_inline_bytes(self, kind: str) -> int:
        """Return the size in bytes up to which a body is small."""
        return self._parsers[kind].large

    async def _parse_large(self, kind: str, body: bytes) -> Any:
        for _ in range(MAX_ATTEMPTS):
            try:
                large, fields = await (await asyncio.shield(self._running())).parse(kind, body)
                return self._parsers[kind].fields(large, *fields)
            except (ProcessLost, OSError) as error:
                log.error("the process that validates large bodies is lost (%s)", error or type(error).__name__)
        detail = "the process that validates large requests failed with this one; send a smaller one"
        raise Problem(500, "bug", detail)

    async def _running(self) -> "ValidationProcess":
        async with self._starting:
            if self._process is None or not self._process.alive:
                self._process = await start_process(self._settings)
            return self._process

    async def close(self) -> None:
        if self._process is not None:
            await self._process.close()


class ValidationProcess:
    """A handle of the process; `parse` may be called while it parses another body."""

    def __init__(self, process: Process, channel: Channel, hang_s: float) -> None:
        self._channel, self._process, self._hang_s = channel, process, hang_s
        self.alive = True
        self._ids = itertools.count()
        self._waiting: dict[int, asyncio.Future[tuple[bytes, list[Any]]]] = {}
        channel.on_message, channel.on_close = self._receive, self._lost

    async def parse(self, kind: str, body: bytes) -> tuple[bytes, list[Any]]:
        """Return the large field of a request as JSON, and its other fields; raise a Problem or ProcessLost."""
        if not self.alive:
            raise ProcessLost("it died")
        number, answer = next(self._ids), asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._channel.send({"id": number, "parser": kind}, body)
        try:
            async with asyncio.timeout(self._hang_s):
                return await answer  # type: ignore[no-any-return]
        except TimeoutError:
            self.alive = False
            self._process.kill()
            raise ProcessLost("it was hung, and is killed") from None
        finally:
            self._waiting.pop(number, None)

    async def close(self) -> None:
        """End the process, which has nothing to lose."""
        self._channel.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    def _receive(self, message: Message, content: bytes) -> None:
        answer = self._waiting.get(message["id"])
        if answer is None or answer.done():
            return
        if "problem" in message:
            answer.set_exception(_problem(message["problem"]))
        else:
            answer.set_result((content, message["fields"]))

    def _lost(self) -> None:
        self.alive = False
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ProcessLost("it died"))


def _problem(fields: dict[str, Any]) -> Problem:
    return Problem(fields["status"], fields["kind"], fields["detail"], headers=fields["headers"], **fields["members"])


async def start_process(settings: Settings) -> ValidationProcess:
    """Start the process with its end of a socket pair as standard input."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", MODULE),
            stdin=theirs.fileno(),
            env=os.environ | ONE_THREAD,
            start_new_session=True,
        )
    ours.setblocking(False)
    _, channel = await asyncio.get_running_loop().create_connection(lambda: Channel(lambda _: None), sock=ours)
    channel.send(settings.model_dump(mode="json"))
    return ValidationProcess(process, channel, settings.hang_s)
