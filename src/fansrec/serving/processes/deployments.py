"""The models a service serves, generation after generation: loaded beside the running ones, put in their place, kept
to return to."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from fansrec.errors import BadArtifact, FansError
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes.channel import Line, Message
from fansrec.serving.processes.deployment import Generation
from fansrec.serving.processes.dispatch import Dispatcher
from fansrec.serving.processes.supervisors import Nursery, Patience, lost
from fansrec.serving.settings import Settings

log = logging.getLogger("fansrec.serving")

LOAD_SECONDS = 600.0
FORK_SECONDS = 60.0  # for all workers of a generation to report
COME_SECONDS = {"cpu": 2.0}  # for one of them: it is forked with the models; elsewhere it must first load them
RENEW_SECONDS = 5.0


class Busy(FansError):
    """Something that cannot be done now."""


class Generations:
    """`changed` is called when other models serve than before."""

    def __init__(
        self, settings: Settings, metrics: Metrics, dispatcher: Dispatcher, changed: Callable[[], None]
    ) -> None:
        self._settings, self._metrics, self._dispatcher, self._changed = settings, metrics, dispatcher, changed
        self._numbers = itertools.count(1)
        self._all: dict[int, Generation] = {}
        self._nursery = Nursery(settings, self._came, self._orders_lost)
        self._patience = Patience(settings.worker_count)
        self._lock = asyncio.Lock()
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
        await self._nursery.start()
        self._do(self._watch())
        await self._replace_by(await self._load(self._places()))

    async def reload(self) -> list[str]:
        """Read the folders again; gives the names of models that are others now."""
        async with self._alone():
            try:
                new = await self._load(self._places())
                changed = self._differences(new)
                if changed:
                    forgotten, self.previous = self.previous, await self._replace_by(new)
                    self._dismiss(forgotten)
                else:
                    self._dismiss(new)
            except FansError:
                self._metrics.reloads.labels("refused").inc()
                raise
            self._metrics.reloads.labels("changed" if changed else "unchanged").inc()
            return changed

    async def roll_back(self) -> list[str]:
        """Return to the models before the last reload; they are still in memory."""
        async with self._alone():
            if self.previous is None or self.previous.keeper is None:
                raise Busy("no earlier models are in memory to return to; reload brings those of the folders")
            changed = self._differences(self.previous)
            self.previous = await self._replace_by(self.previous)
            self._metrics.reloads.labels("rolled-back").inc()
            return changed

    async def close(self) -> None:
        self._closing = True
        for task in self._tasks:
            task.cancel()
        for generation in [*self._all.values()]:
            self._dismiss(generation)
        await self._nursery.close()

    # How it is done

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """One change of generations at a time; who comes second is told so instead of waiting."""
        if self._lock.locked():
            raise Busy("models are being changed at this moment; try again in a few seconds")
        async with self._lock:
            yield

    def _places(self) -> list[dict[str, Any]]:
        return [place.model_dump(mode="json") for place in self._settings.models]

    def _differences(self, new: Generation) -> list[str]:
        old = self.current.hashes if self.current else {}
        return [name for name, value in new.hashes.items() if old.get(name) != value]

    def _next(self) -> Generation:
        new = Generation(
            next(self._numbers),
            self._dispatcher,
            self._settings.worker_count,
            COME_SECONDS.get(self._settings.device, FORK_SECONDS),
            lambda generation: self._do(self._fork_soon(generation)),
            self._dispatcher.loop.create_future(),
        )
        self._all[new.number] = new
        return new

    async def _load(self, places: list[dict[str, Any]]) -> Generation:
        """A generation with its models in memory, and no workers yet."""
        new = self._next()
        order = {"generation": new.number, "models": places, "device": self._settings.device}
        try:
            async with asyncio.timeout(LOAD_SECONDS):
                await self._nursery.order(order | {"backend": self._settings.backend})
                await new.loaded
        except BaseException as error:
            self._dismiss(new)
            if isinstance(error, TimeoutError):
                raise BadArtifact(f"the models were not loaded within {LOAD_SECONDS:.0f} s") from error
            raise
        return new

    async def _replace_by(self, new: Generation) -> Generation | None:
        """Bring the workers of `new` in, and only then send the old ones home: there is never nobody. Gives the old."""
        await self._man(new)
        old, self.current = self.current, new
        if old is not None:
            old.send_home()
        self._metrics.model_info.clear()
        for name, value in new.hashes.items():
            self._metrics.model_info.labels(name, value).set(1)
        new.serve()
        log.info("serving %s", ", ".join(f"{name} ({value[:12]})" for name, value in new.hashes.items()))
        self._changed()
        return old

    async def _man(self, new: Generation) -> None:
        """Wait for all workers; a generation that does not get them is given up, unless it can be returned to."""
        new.at_work = True
        new.fork()
        try:
            async with asyncio.timeout(FORK_SECONDS):
                await new.manned.wait()
        except TimeoutError:
            new.trouble = f"its workers did not start within {FORK_SECONDS:.0f} s"
        if new.trouble is not None:
            new.send_home()
            if new is not self.previous:
                self._dismiss(new)
            raise BadArtifact(f"the new models cannot be served: {new.trouble}")

    def _dismiss(self, generation: Generation | None) -> None:
        if generation is not None:
            self._all.pop(generation.number, None)
            generation.dismiss()

    # What is heard of the processes

    def _came(self, line: Line, message: Message) -> None:
        generation = self._all.get(message["generation"])
        if generation is None:
            line.close()  # of a generation that was given up meanwhile
        elif message["kind"] == "keeper":
            generation.keeper = line
            line.heard = lambda told, content: self._loaded(generation, told)
            line.gone = lambda: self._keeper_gone(generation)
        elif "failed" in message:
            generation.fail(BadArtifact(message["failed"]))
        else:
            generation.worker_came(line, message["pid"])

    def _loaded(self, generation: Generation, message: Message) -> None:
        if "refused" in message:
            generation.fail(BadArtifact(message["refused"]))
        elif not generation.loaded.done():
            generation.loaded.set_result(message["models"])

    async def _fork_soon(self, generation: Generation) -> None:
        await self._patience.wait()
        generation.fork()

    def _keeper_gone(self, generation: Generation) -> None:
        generation.keeper = None
        generation.fail(lost())
        if generation is self.current and not self._closing:
            log.error("the keeper of the models is gone; loading them again")
            self._do(self._renew())

    def _orders_lost(self) -> None:
        for generation in self._all.values():
            if generation.keeper is None and not generation.loaded.done():
                generation.fail(lost())

    async def _renew(self) -> None:
        """Workers whose keeper is lost serve on while another loads the same models, from where they were read."""
        while (here := self.current) is not None and here.keeper is None:
            try:
                async with self._alone():
                    self._dismiss(await self._replace_by(await self._load_again(here)))
            except FansError as error:
                log.error("the models cannot be loaded again: %s", error)
                await asyncio.sleep(RENEW_SECONDS)

    async def _load_again(self, lost_one: Generation) -> Generation:
        folders = {model["name"]: model["folder"] for model in lost_one.models}
        same = [place | {"run": folders[place["name"]]} for place in self._places()]
        try:
            again = await self._load(same)
            if again.hashes == lost_one.hashes:
                return again
            self._dismiss(again)
        except FansError as error:
            log.warning("the models served are no longer where they were (%s)", error)
        log.warning("reading what the service was started with instead")
        return await self._load(self._places())

    async def _watch(self) -> None:
        """Workers that hang are replaced, and those that never came are asked for again."""
        while True:
            await asyncio.sleep(min(0.25, self._settings.hang_s / 4))
            self._dispatcher.look_after()
            for generation in self._all.values():  # those on their way to serve as well
                generation.fork()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        if self._closing:
            work.close()
            return
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
