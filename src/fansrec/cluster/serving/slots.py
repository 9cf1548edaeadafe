"""A front's calls to the replicas that hold the models: a fixed number of slots, each of which acts like a worker."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, cast

from fansrec.serving.processes.channel import Channel, Message
from fansrec.serving.processes.dispatch import Dispatcher, Worker

log = logging.getLogger("fansrec.serving")

REOPEN_SECONDS = 0.05  # before the slot of a lost call is used again, so that Ray can notice the dead replica

CallReplica = Callable[[Message], Any]  # awaited, returns the packed replies


class Slot:
    """Room for one call, with the interface of a Channel to a worker.

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
    for _ in range(count):
        _open(dispatcher, call)


def _open(dispatcher: Dispatcher, call: CallReplica) -> None:
    def reopen(worker: Worker) -> None:
        dispatcher.loop.call_later(REOPEN_SECONDS, _open, dispatcher, call)

    dispatcher.add_worker(Worker(cast(Channel, Slot(call)), 0, reopen))


def with_durations(message: Message) -> Message:
    """Return the message with moments as age and time left, since another machine has another clock."""
    now = time.monotonic()
    jobs = [job._replace(since=now - job.since, deadline=job.deadline - now) for job in message["jobs"]]
    return message | {"jobs": jobs}
