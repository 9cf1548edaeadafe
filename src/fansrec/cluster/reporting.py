"""Forwarding of reports from a worker on the cluster to the reporter of the driver, through a Ray queue."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ray.exceptions import RayError
from ray.util.queue import Empty, Queue

from fansrec.training.reporting import Reporter

BATCH_SECONDS = 0.2  # between two reports of batches: a progress bar need not move more often
POLL_SECONDS = 0.2
END = "end"


class QueueReporter(Reporter):
    """The reporter of a worker: it puts every call into a queue without waiting."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._last_batch = 0.0

    def start(self, epochs: int, batches: int) -> None:
        self._put("start", epochs, batches)

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        if time.monotonic() - self._last_batch > BATCH_SECONDS:
            self._last_batch = time.monotonic()
            self._put("batch", epoch, batch, loss, category_accuracy)

    def epoch(self, row: dict[str, Any]) -> None:
        self._put("epoch", row)

    def message(self, text: str) -> None:
        self._put("message", text)

    def _put(self, *call: Any) -> None:
        self._queue.actor.put_nowait.remote(call)


@contextmanager
def forwarded_reports(reporter: Reporter) -> Iterator[Queue]:
    """Yield a queue whose calls are forwarded to the reporter until the block ends."""
    queue = Queue(actor_options={"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1})
    canceled = threading.Event()
    thread = threading.Thread(target=_forward, args=(queue, reporter, canceled.is_set), daemon=True)
    thread.start()
    try:
        yield queue
    except BaseException:
        canceled.set()
        raise
    else:
        try:
            queue.put((END,))
        except RayError:  # training does not fail because reports are lost
            canceled.set()
    finally:
        thread.join()
        queue.shutdown(force=True)


def _forward(queue: Queue, reporter: Reporter, canceled: Callable[[], bool]) -> None:
    while not canceled():
        try:
            name, *arguments = queue.get(timeout=POLL_SECONDS)
        except Empty:
            continue
        except RayError:  # the cluster is gone, and the queue with it
            return
        if name == END:
            return
        getattr(reporter, name)(*arguments)
