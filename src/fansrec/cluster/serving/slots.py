"""A front's way to the replicas that hold the models: calls that may be under way at once, each like a worker to it."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, cast

from fansrec.serving.processes.channel import Line, Message
from fansrec.serving.processes.dispatch import Dispatcher, Worker

log = logging.getLogger("fansrec.serving")

AGAIN_SECONDS = 0.05  # before a lost call's place is used again: whoever died has to be noticed first

Ask = Callable[[Message, bytes], Any]  # awaited, gives the replies and their contents


class Slot:
    """Room for one call. It speaks as the line to a worker does, so that queue, limits, deadlines and retries of the
    service on one machine are those of a cluster too; which replica takes a call is Ray's affair."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._task: asyncio.Task[None] | None = None
        self.heard: Callable[[Message, bytes], None] = lambda message, content: None
        self.gone: Callable[[], None] = lambda: None

    def send(self, message: Message, content: bytes = b"") -> None:
        self._task = asyncio.ensure_future(self._call(by_duration(message), content))

    def close(self) -> None:
        """A call under way ends by itself."""

    async def _call(self, message: Message, content: bytes) -> None:
        try:
            replies, contents = await self._ask(message, content)
        except Exception as error:  # a replica that died, or was stopped before it had answered: another is asked
            log.warning("a call was lost: %s", " ".join(str(error).split())[:300] or type(error).__name__)
            self.gone()
        else:
            self.heard({"kind": "replies", "replies": replies}, contents)


def open_slots(dispatcher: Dispatcher, ask: Ask, count: int) -> None:
    for _ in range(count):
        _open(dispatcher, ask)


def _open(dispatcher: Dispatcher, ask: Ask) -> None:
    def lost(worker: Worker) -> None:
        dispatcher.loop.call_later(AGAIN_SECONDS, _open, dispatcher, ask)

    dispatcher.welcome(Worker(cast(Line, Slot(ask)), 0, lost))


def by_duration(message: Message) -> Message:
    """Moments as how long ago and how far off they are: another machine has another clock."""
    now = time.monotonic()
    jobs = [[id_, model, size, now - since, deadline - now] for id_, model, size, since, deadline in message["jobs"]]
    return message | {"jobs": jobs}
