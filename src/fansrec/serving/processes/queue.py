"""Requests that wait for a worker: bounded in number and in tokens, given out in batches."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

CROWDED = 0.75  # of what it may hold


@dataclass(eq=False)
class Waiting:
    """A request from its arrival to its answer."""

    id: int
    model: str
    body: bytes
    tokens: int  # items given and asked for: what an answer costs
    since: float
    deadline: float
    answer: asyncio.Future[bytes]
    started: float = 0.0  # when a worker got it
    tries: int = 0  # workers that died or hung over it


class Queue:
    def __init__(self, most_requests: int, most_tokens: int) -> None:
        self._most_requests, self._most_tokens = most_requests, most_tokens
        self._waiting: OrderedDict[int, Waiting] = OrderedDict()
        self.tokens = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def full(self, tokens: int = 0) -> bool:
        """Whether there is no room; a queue with nobody in it takes a request of any size."""
        crowded = len(self._waiting) >= self._most_requests or self.tokens + tokens > self._most_tokens
        return bool(self._waiting) and crowded

    @property
    def crowded(self) -> bool:
        return len(self._waiting) > CROWDED * self._most_requests or self.tokens > CROWDED * self._most_tokens

    def put(self, request: Waiting) -> None:
        self._waiting[request.id] = request
        self.tokens += request.tokens

    def put_back(self, request: Waiting) -> None:
        """To the head: it has waited already."""
        self.put(request)
        self._waiting.move_to_end(request.id, last=False)

    def drop(self, request: Waiting) -> bool:
        """Forget a request that nobody waits for; False if it was not waiting here."""
        if self._waiting.pop(request.id, None) is None:
            return False
        self.tokens -= request.tokens
        return True

    def take(self, budget: int, workers: int) -> list[Waiting]:
        """The next batch: a fair share among the workers, no more tokens than the budget, but one request at least.

        A request over which a worker has died goes alone, so that it takes no other with it again.
        """
        room = min(budget, -(-self.tokens // max(workers, 1)))
        batch: list[Waiting] = []
        while self._waiting:
            request = next(iter(self._waiting.values()))
            if batch and (request.tokens > room or request.tries):
                break
            self.drop(request)
            batch.append(request)
            room -= request.tokens
            if request.tries:
                break
        return batch
