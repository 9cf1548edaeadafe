"""The process that forks all others, seen from the front: started again when it dies, and asked for keepers."""

import asyncio
import logging
import os
import shutil
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable

from fansrec.errors import FansError, Unfinished
from fansrec.serving.processes.channel import Line, Message
from fansrec.serving.settings import Settings

log = logging.getLogger("fansrec.serving")

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
SLOW_DOWN = (0.0, 0.0, 0.05, 0.2, 1.0, 5.0)  # before a process that dies again and again is started again
CALM_SECONDS = 10.0  # without a death, after which the next one counts as the first


class Patience:
    """At once the first times; processes that die again and again must not take all the machine's time."""

    def __init__(self, family: int) -> None:
        self._family = max(1, family)  # so many may die for one reason
        self._deaths: list[float] = []

    async def wait(self) -> None:
        now = time.monotonic()
        self._deaths = [then for then in self._deaths if now - then < CALM_SECONDS] + [now]
        await asyncio.sleep(SLOW_DOWN[min(len(self._deaths) // self._family, len(SLOW_DOWN) - 1)])


class Nursery:
    """`came` hears the first words of every keeper and worker, `died` that orders may have been lost."""

    def __init__(self, settings: Settings, came: Callable[[Line, Message], None], died: Callable[[], None]) -> None:
        self._logs = settings.log_style, settings.log_level
        self._came, self._died = came, died
        self._patience = Patience(1)
        self._folder: str | None = None  # of the socket that its family connects to
        self._server: asyncio.AbstractServer | None = None
        self._process: Process | None = None
        self._line: asyncio.Future[Line] | None = None
        self._life: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="fans-serve-")  # nobody else may enter it
        loop = asyncio.get_running_loop()
        self._line = loop.create_future()
        self._server = await loop.create_unix_server(lambda: Line(self._opened), self._socket)
        self._process = await self._born()
        self._life = asyncio.ensure_future(self._live())

    async def order(self, order: Message) -> None:
        """Have a keeper forked; it says the rest itself."""
        assert self._line is not None
        (await asyncio.shield(self._line)).send(order)

    async def close(self) -> None:
        if self._life is not None:
            self._life.cancel()
        if self._server is not None:
            self._server.close()
        if self._line is not None and self._line.done() and not self._line.exception():
            self._line.result().close()
        if self._process is not None:
            await self._process.wait()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _socket(self) -> str:
        return f"{self._folder}/front"

    async def _born(self) -> Process:
        arguments = (sys.executable, "-m", "fansrec.serving.processes.supervisor", self._socket, *self._logs)
        return await asyncio.create_subprocess_exec(
            *arguments, env=os.environ | ONE_THREAD, stdin=DEVNULL, start_new_session=True
        )

    async def _live(self) -> None:
        """One after the other, as long as the service lives."""
        while True:
            assert self._process is not None and self._line is not None
            await self._process.wait()
            log.error("the nursery is gone; starting another")
            if not self._line.done():
                self._line.set_exception(lost())
                self._line.exception()  # whether anyone waits for it or not
            self._line = asyncio.get_running_loop().create_future()
            self._died()
            await self._patience.wait()
            self._process = await self._born()

    def _opened(self, line: Line) -> None:
        line.heard = lambda message, content: self._hello(line, message)

    def _hello(self, line: Line, message: Message) -> None:
        if message["kind"] != "nursery":
            self._came(line, message)
        elif self._line is not None and not self._line.done():
            self._line.set_result(line)


def lost() -> FansError:
    return Unfinished("the process that loads models died; the log says why")
