"""The models a service serves, generation by generation: loaded beside the running ones, put in their place, kept to
return to. A generation is a keeper process that holds loaded models and the workers forked from it."""

import asyncio
import itertools
import logging
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

from fansrec.errors import BadArtifact, FansError
from fansrec.server.metrics import Metrics
from fansrec.server.settings import Settings
from fansrec.server.workers.dispatch import Dispatcher, Worker
from fansrec.server.workers.wire import Line, Message

log = logging.getLogger("fansrec.server")

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
LOAD_SECONDS = 600.0
FORK_SECONDS = 60.0  # for all workers of a generation to report; on a GPU each of them loads the model
SLOW_DOWN = (0.0, 0.0, 0.05, 0.2, 1.0, 5.0)  # before a process that dies again and again is started again
CALM_SECONDS = 10.0  # without a death, after which the next one counts as the first


class Busy(FansError):
    """Something that cannot be done now, or not any more."""


@dataclass(eq=False)
class Generation:
    number: int
    loaded: asyncio.Future[list[dict[str, Any]]]  # what `GET /v1/models` says of its models
    keeper: Line | None = None
    workers: set[Worker] = field(default_factory=set)
    at_work: bool = False  # whether it shall have workers
    coming: int = 0  # workers asked for that have not reported yet
    asked_at: float = 0.0
    full: asyncio.Event = field(default_factory=asyncio.Event)  # as many workers as wanted

    @property
    def models(self) -> list[dict[str, Any]]:
        return self.loaded.result()

    @property
    def hashes(self) -> dict[str, str]:
        return {model["name"]: model["hash"] for model in self.models}


class Generations:
    def __init__(self, settings: Settings, metrics: Metrics, dispatcher: Dispatcher) -> None:
        self._settings, self._metrics, self._dispatcher = settings, metrics, dispatcher
        self._folder: str | None = None  # of the socket that its processes connect to
        self._server: asyncio.AbstractServer | None = None
        self._numbers = itertools.count(1)
        self._all: dict[int, Generation] = {}
        self._nursery: asyncio.Future[Line] = dispatcher.loop.create_future()
        self._process: asyncio.subprocess.Process | None = None
        self._deaths: list[float] = []
        self._changing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        self.current: Generation | None = None
        self.previous: Generation | None = None
        metrics.workers_wanted.set(settings.worker_count)

    @property
    def ready(self) -> bool:
        return self.current is not None and bool(self.current.workers)

    # What users ask for

    async def start(self) -> None:
        """The first generation; a model that cannot be loaded is told as the FansError it is."""
        self._folder = tempfile.mkdtemp(prefix="fans-serve-")  # nobody else may enter it
        self._server = await self._dispatcher.loop.create_unix_server(lambda: Line(self._opened), self._socket)
        await self._start_nursery()
        await self._replace_by(await self._load())
        self._do(self._watch())

    async def reload(self) -> list[str]:
        """Read the folders again; gives the names of models that are others now."""
        async with self._alone():
            try:
                new = await self._load()
            except FansError:
                self._metrics.reloads.labels("refused").inc()
                raise
            changed = self._changed(new)
            if not changed:
                self._dismiss(new)
            else:
                await self._replace_by(new)
            self._metrics.reloads.labels("changed" if changed else "unchanged").inc()
            return changed

    async def roll_back(self) -> list[str]:
        """Return to the models before the last reload; they are still in memory."""
        async with self._alone():
            if self.previous is None or self.previous.keeper is None:
                raise Busy("there is no earlier generation of models to return to; nothing was reloaded yet")
            changed = self._changed(self.previous)
            await self._replace_by(self.previous)
            self._metrics.reloads.labels("rolled-back").inc()
            return changed

    async def close(self) -> None:
        self._closing = True
        for task in self._tasks:
            task.cancel()
        for generation in [*self._all.values()]:
            self._dismiss(generation)
        if self._nursery.done() and not self._nursery.cancelled():
            self._nursery.result().close()
        if self._server is not None:
            self._server.close()
        if self._process is not None:
            await self._process.wait()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    # How it is done

    @property
    def _socket(self) -> str:
        return f"{self._folder}/front"

    def _alone(self) -> "_Alone":
        return _Alone(self._changing)

    def _changed(self, new: Generation) -> list[str]:
        old = self.current.hashes if self.current else {}
        return [name for name, value in new.hashes.items() if old.get(name) != value]

    async def _start_nursery(self) -> None:
        logs = self._settings.log_style, self._settings.log_level
        arguments = (sys.executable, "-m", "fansrec.server.workers.nursery", self._socket, *logs)
        self._process = await asyncio.create_subprocess_exec(
            *arguments, env=os.environ | ONE_THREAD, stdin=asyncio.subprocess.DEVNULL, start_new_session=True
        )

    async def _load(self) -> Generation:
        """A generation with its models in memory, and no workers yet."""
        generation = Generation(next(self._numbers), self._dispatcher.loop.create_future())
        self._all[generation.number] = generation
        order = {
            "generation": generation.number,
            "models": [place.model_dump(mode="json") for place in self._settings.models],
            "device": self._settings.device,
            "backend": self._settings.backend,
        }
        try:
            async with asyncio.timeout(LOAD_SECONDS):
                (await asyncio.shield(self._nursery)).send(order)
                await generation.loaded
        except BaseException as error:
            self._dismiss(generation)
            if isinstance(error, TimeoutError):
                raise BadArtifact(f"the models were not loaded within {LOAD_SECONDS:.0f} s") from error
            raise
        return generation

    async def _replace_by(self, new: Generation) -> None:
        """Bring the workers of `new` in, and only then send the old ones home: there is never nobody."""
        new.at_work = True
        self._fork(new)
        try:
            async with asyncio.timeout(FORK_SECONDS):
                await new.full.wait()
        except TimeoutError as error:
            self._send_home(new)
            raise BadArtifact("the workers of the new models did not start; see the log") from error
        old, self.current = self.current, new
        if old is not None:
            self._send_home(old)
        if self.previous not in (None, new):
            self._dismiss(self.previous)
        self.previous = old
        self._metrics.model_info.clear()
        for name, value in new.hashes.items():
            self._metrics.model_info.labels(name, value).set(1)
        for worker in new.workers:
            self._dispatcher.welcome(worker)
        log.info("serving %s", ", ".join(f"{name} ({value[:12]})" for name, value in new.hashes.items()))

    def _fork(self, generation: Generation) -> None:
        """Ask for the workers that are missing."""
        missing = self._settings.worker_count - len(generation.workers) - generation.coming
        if generation.keeper is None or not generation.at_work or missing <= 0:
            return
        generation.asked_at = time.monotonic()
        for _ in range(missing):
            generation.coming += 1
            generation.keeper.send({"kind": "fork"})

    def _send_home(self, generation: Generation) -> None:
        generation.full.clear()
        generation.at_work, generation.coming = False, 0
        workers, generation.workers = generation.workers, set()
        for worker in workers:
            self._dispatcher.retire(worker)

    def _dismiss(self, generation: Generation | None) -> None:
        if generation is not None:
            self._all.pop(generation.number, None)
            self._send_home(generation)
            if generation.keeper is not None:
                generation.keeper.close()

    # What is heard of the processes

    def _opened(self, line: Line) -> None:
        line.heard = lambda message, content: self._hello(line, message)

    def _hello(self, line: Line, message: Message) -> None:
        if message["kind"] == "nursery":
            line.gone = self._nursery_gone
            self._nursery.set_result(line)
            return
        generation = self._all.get(message["generation"])
        if generation is None:
            line.close()  # of a generation that was given up meanwhile
        elif message["kind"] == "keeper":
            generation.keeper = line
            line.heard = lambda told, content: self._loaded(generation, told)
            line.gone = lambda: self._keeper_gone(generation)
        else:
            self._worker_came(
                generation, Worker(line, message["pid"], lambda gone: self._worker_gone(generation, gone))
            )

    def _loaded(self, generation: Generation, message: Message) -> None:
        if generation.loaded.done():
            return
        if "refused" in message:
            generation.loaded.set_exception(BadArtifact(message["refused"]))
        else:
            generation.loaded.set_result(message["models"])

    def _worker_came(self, generation: Generation, worker: Worker) -> None:
        if not generation.at_work:
            worker.line.close()
            return
        worker.line.gone = lambda: worker.lost(worker)
        generation.coming = max(0, generation.coming - 1)
        generation.workers.add(worker)
        if len(generation.workers) >= self._settings.worker_count:
            generation.full.set()
        if generation is self.current:
            self._dispatcher.welcome(worker)

    def _worker_gone(self, generation: Generation, worker: Worker) -> None:
        generation.workers.discard(worker)
        if generation.at_work and not self._closing:
            self._do(self._after_a_while(generation))

    async def _after_a_while(self, generation: Generation) -> None:
        await asyncio.sleep(self._patience())
        self._fork(generation)

    def _patience(self) -> float:
        """At once the first times; a process that dies again and again must not take all the machine's time."""
        now = time.monotonic()
        self._deaths = [then for then in self._deaths if now - then < CALM_SECONDS] + [now]
        spare = len(self._deaths) // max(1, self._settings.worker_count)
        return SLOW_DOWN[min(spare, len(SLOW_DOWN) - 1)]

    def _keeper_gone(self, generation: Generation) -> None:
        generation.keeper = None
        if not generation.loaded.done():
            generation.loaded.set_exception(BadArtifact("the process that loaded the models died; see the log"))
        elif generation is self.current and not self._closing:
            log.error("the keeper of the models is gone; loading them again")
            self._do(self._renew())

    async def _renew(self) -> None:
        """A keeper was lost: its workers serve on while another loads the same folders."""
        while not self._closing:
            await asyncio.sleep(self._patience())
            try:
                async with self._alone():
                    await self._replace_by(await self._load())
                return
            except FansError as error:
                log.error("models cannot be loaded again: %s", error)
                await asyncio.sleep(SLOW_DOWN[-1])

    def _nursery_gone(self) -> None:
        if self._closing:
            return
        log.error("the nursery is gone; starting another")
        self._nursery = self._dispatcher.loop.create_future()
        for generation in self._all.values():
            if generation.keeper is None and not generation.loaded.done():  # its order may have been lost
                generation.loaded.set_exception(BadArtifact("the process that should load the models died; try again"))
        self._do(self._start_another_nursery())

    async def _start_another_nursery(self) -> None:
        await asyncio.sleep(self._patience())
        await self._start_nursery()

    async def _watch(self) -> None:
        """Workers that hang are replaced, and those that never came are asked for again."""
        while True:
            await asyncio.sleep(min(0.25, self._settings.hang_s / 4))
            self._dispatcher.look_after()
            here = self.current
            if here is not None and here.coming and time.monotonic() - here.asked_at > FORK_SECONDS:
                here.coming = 0
                self._fork(here)

    def _do(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Alone:
    """One change of generations at a time; who comes second is told so instead of waiting."""

    def __init__(self, lock: asyncio.Lock) -> None:
        self._lock = lock

    async def __aenter__(self) -> None:
        if self._lock.locked():
            raise Busy("models are being changed at this moment; try again in a few seconds")
        await self._lock.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()
