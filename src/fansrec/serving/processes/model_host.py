"""A model host as the front sees it: has workers forked and writes applied, and is killed if it hangs meanwhile."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from fansrec.errors import FansError
from fansrec.serving.processes.channel import APPLY, HEARTBEAT, Channel, Message
from fansrec.serving.processes.dispatch import kill

log = logging.getLogger("fansrec.serving")

APPLY_SECONDS = 600.0  # for writes to be applied, however many there are

Models = list[dict[str, Any]]  # their descriptions, as for `GET /v1/models`


class ModelHost:
    """A handle of a process that has loaded the models of a deployment.

    `on_message` gets what it sends except heartbeats; `on_lost` is called when the process has died.
    """

    def __init__(
        self, channel: Channel, pid: int, on_message: Callable[[Message], None], on_lost: Callable[[], None]
    ) -> None:
        self._channel, self._pid, self._on_message = channel, pid, on_message
        channel.on_message = lambda message, content: self._receive(message)
        channel.on_close = on_lost
        self._applied: asyncio.Future[Models] | None = None
        self._apply_since = self._heard_at = 0.0

    @property
    def applying(self) -> bool:
        """Whether it applies writes; it forks no workers meanwhile."""
        return self._applied is not None and not self._applied.done()

    def fork_worker(self) -> None:
        self._channel.send({"kind": "fork"})

    async def apply(self, last: int) -> Models:
        """Have the writes up to `last` applied to the models, and return their descriptions."""
        self._applied = asyncio.get_running_loop().create_future()
        self._apply_since = self._heard_at = time.monotonic()
        self._channel.send({"kind": APPLY, "last": last})
        return await asyncio.shield(self._applied)  # the process goes on if the caller is cancelled

    def finish_applying(self, result: Models | FansError) -> None:
        """Let `apply` return the models or raise the error."""
        if self._applied is None or self._applied.done():
            return
        if isinstance(result, FansError):
            self._applied.set_exception(result)
        else:
            self._applied.set_result(result)

    def check(self, limit: float) -> None:
        """Kill the process if it applies writes and has sent nothing for `limit` seconds, or takes too long for all."""
        now = time.monotonic()
        if self.applying and (now - self._heard_at > limit or now - self._apply_since > APPLY_SECONDS):
            log.error("model host %d is hung while it applies writes, and is killed", self._pid)
            kill(self._pid)
            self._channel.close()

    def close(self) -> None:
        self._channel.close()

    def _receive(self, message: Message) -> None:
        self._heard_at = time.monotonic()
        if message.get("kind") != HEARTBEAT:
            self._on_message(message)
