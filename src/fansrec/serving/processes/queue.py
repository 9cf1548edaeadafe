"""The queue of requests that wait for a worker, bounded by their number and by their tokens."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

from fansrec.serving.processes.jobs import Job

CROWDED = 0.75  # share of a limit above which a queue that was full still counts as full


@dataclass(eq=False)
class QueuedRequest:
    """A request from its arrival to its answer."""

    job: Job
    tokens: int  # items given and requested: the cost of an answer
    answer: asyncio.Future[bytes]
    queued: float = 0.0  # when it was put into the queue for the first time
    started: float = 0.0  # when a worker got it
    failures: int = 0  # workers that died or hung while they had it

    @property
    def id(self) -> int:
        return self.job.id


class Queue:
    def __init__(self, max_requests: int, max_tokens: int) -> None:
        self._max_requests, self._max_tokens = max_requests, max_tokens
        self._requests: OrderedDict[int, QueuedRequest] = OrderedDict()
        self.tokens = 0

    def __len__(self) -> int:
        return len(self._requests)

    def full(self, tokens: int = 0) -> bool:
        """Return whether a request of that many tokens has no room; an empty queue takes a request of any size."""
        over = len(self._requests) >= self._max_requests or self.tokens + tokens > self._max_tokens
        return bool(self._requests) and over

    @property
    def crowded(self) -> bool:
        return len(self._requests) > CROWDED * self._max_requests or self.tokens > CROWDED * self._max_tokens

    def put(self, request: QueuedRequest) -> None:
        self._requests[request.id] = request
        self.tokens += request.tokens

    def put_first(self, request: QueuedRequest) -> None:
        """Put a request at the head of the queue, since it has waited already."""
        self.put(request)
        self._requests.move_to_end(request.id, last=False)

    def remove(self, request: QueuedRequest) -> bool:
        """Remove a request that nobody waits for; return False if it is not in the queue."""
        if self._requests.pop(request.id, None) is None:
            return False
        self.tokens -= request.tokens
        return True

    def take_batch(self, max_tokens: int, workers: int) -> list[QueuedRequest]:
        """Remove and return the next batch: a fair share for one of `workers`, at most `max_tokens`, but one request.

        A request with which a worker has died goes alone, so that it cannot harm other requests again.
        """
        room = min(max_tokens, -(-self.tokens // max(workers, 1)))
        batch: list[QueuedRequest] = []
        while self._requests:
            request = next(iter(self._requests.values()))
            if batch and (request.tokens > room or request.failures):
                break
            self.remove(request)
            batch.append(request)
            room -= request.tokens
            if request.failures:
                break
        return batch
