"""The supervisor as the front sees it: starts the supervisor process, restarts it, and orders model hosts from it."""

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
from fansrec.serving.processes.channel import SUPERVISOR, Channel, Message
from fansrec.serving.settings import Settings

log = logging.getLogger("fansrec.serving")

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
BACKOFF_SECONDS = (0.0, 0.0, 0.05, 0.2, 1.0, 5.0)  # before a process that dies repeatedly is started again
RESET_SECONDS = 10.0  # without a death after which the next one counts as the first


class Backoff:
    """Delays restarts: none at first, longer ones when processes die repeatedly."""

    def __init__(self, processes: int) -> None:
        self._processes = max(1, processes)  # that may all die for one reason
        self._deaths: list[float] = []

    async def wait(self) -> None:
        now = time.monotonic()
        self._deaths = [then for then in self._deaths if now - then < RESET_SECONDS] + [now]
        step = min(len(self._deaths) // self._processes, len(BACKOFF_SECONDS) - 1)
        await asyncio.sleep(BACKOFF_SECONDS[step])


class Supervisor:
    """A handle of the supervisor process.

    `on_connect` gets the channel and the first message of each model host and worker; `on_lost` is called when the
    supervisor process has died, so that orders may be lost.
    """

    def __init__(
        self, settings: Settings, on_connect: Callable[[Channel, Message], None], on_lost: Callable[[], None]
    ) -> None:
        self._log_arguments = settings.log_style, settings.log_level
        self._on_connect, self._on_lost = on_connect, on_lost
        self._backoff = Backoff(1)
        self._folder: str | None = None  # of the socket that all processes connect to
        self._server: asyncio.AbstractServer | None = None
        self._process: Process | None = None
        self._channel: asyncio.Future[Channel] | None = None
        self._restarting: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="fans-serve-")  # only this user may enter it
        loop = asyncio.get_running_loop()
        self._channel = loop.create_future()
        self._server = await loop.create_unix_server(lambda: Channel(self._opened), self._socket)
        self._process = await self._start_process()
        self._restarting = asyncio.ensure_future(self._restart())

    async def start_model_host(self, order: Message) -> None:
        """Have a model host forked; it connects by itself."""
        assert self._channel is not None
        (await asyncio.shield(self._channel)).send(order)

    async def close(self) -> None:
        if self._restarting is not None:
            self._restarting.cancel()
        if self._server is not None:
            self._server.close()
        if self._channel is not None and self._channel.done() and not self._channel.exception():
            self._channel.result().close()
        if self._process is not None:
            await self._process.wait()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _socket(self) -> str:
        return f"{self._folder}/front"

    async def _start_process(self) -> Process:
        module = "fansrec.serving.processes.supervisor_process"
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module, self._socket, *self._log_arguments),
            env=os.environ | ONE_THREAD,
            stdin=DEVNULL,
            start_new_session=True,
        )

    async def _restart(self) -> None:
        """Start the process again whenever it ends."""
        while True:
            assert self._process is not None and self._channel is not None
            await self._process.wait()
            log.error("the supervisor is lost; starting another one")
            if not self._channel.done():
                self._channel.set_exception(process_lost())
                self._channel.exception()  # marks it as retrieved, even if nothing waits for it
            self._channel = asyncio.get_running_loop().create_future()
            self._on_lost()
            await self._backoff.wait()
            self._process = await self._start_process()

    def _opened(self, channel: Channel) -> None:
        channel.on_message = lambda message, content: self._introduced(channel, message)

    def _introduced(self, channel: Channel, message: Message) -> None:
        if message["kind"] != SUPERVISOR:
            self._on_connect(channel, message)
        elif self._channel is not None and not self._channel.done():
            self._channel.set_result(channel)


def process_lost() -> FansError:
    return Unfinished("the process that loads models died; the log says why")
