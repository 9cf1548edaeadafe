"""A training's words on their way from the worker to whoever started it."""

import time
from collections.abc import Callable
from typing import Any

from ray.exceptions import RayError
from ray.util.queue import Empty, Queue

from fansrec.training.reporting import Reporter

EVERY_SECONDS = 0.2  # a bar need not move more often
POLL_SECONDS = 0.2
LAST = "last"


class QueueReporter:
    """In the worker: what is said goes into a queue, and nobody waits for it to arrive."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._told_at = 0.0

    def start(self, epochs: int, batches: int) -> None:
        self._put("start", epochs, batches)

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        if time.monotonic() - self._told_at > EVERY_SECONDS:
            self._told_at = time.monotonic()
            self._put("batch", epoch, batch, loss, category_accuracy)

    def epoch(self, row: dict[str, Any]) -> None:
        self._put("epoch", row)

    def say(self, text: str) -> None:
        self._put("say", text)

    def _put(self, *word: Any) -> None:
        self._queue.actor.put_nowait.remote(word)


def pass_on(queue: Queue, reporter: Reporter, dropped: Callable[[], bool]) -> None:
    """In the starter: hand all words on, up to the last one, or until nobody wants to hear them."""
    while not dropped():
        try:
            name, *said = queue.get(timeout=POLL_SECONDS)
        except Empty:
            continue
        except RayError:  # the cluster is gone, and with it the queue
            return
        if name == LAST:
            return
        getattr(reporter, name)(*said)
