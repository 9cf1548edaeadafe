"""Clients of a service that is killed: writers that note what was acknowledged, readers that check every answer.

Each list contains two items that no other list has, and a group of lists is always written in one request. An answer
says which items the model does not know, and so which lists it has: all of a group or none.
"""

import random
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from benchmarks.updates.killed_service import VALIDATOR, WHOLE, WORKER, KilledService

from fansrec.updating.changes import RemoveList, SetList
from fansrec.updating.records import to_json

GROUP, SINGLES, MOST_LISTS = 3, 150, 5  # lists that are written together, other lists, and of these in one request
SHARE_GROUP, SHARE_REMOVED, SHARE_SEVERAL = 0.3, 0.15, 0.2  # of the requests
PROBED = 10  # groups of one writer in a request
LARGE = 15, 900  # lists and items that are added to a request to make it a large one
K = 10
ACKNOWLEDGED, REFUSED, IN_DOUBT, NOT_SENT = "acknowledged", "refused", "in doubt", "not sent"
ONLY_WORKERS, OTHERS, STARTED_AGAIN = "only workers", "also a model host or supervisor", "also a front process"


@dataclass(eq=False)
class Write:
    """A request that writes, and what became of it."""

    changes: tuple[SetList | RemoveList, ...]
    outcome: str = IN_DOUBT
    seq: int = 0  # of an acknowledged one
    status: int | None = None  # of the answer, if there was one


class Client(threading.Thread):
    """A client that sends one request after another, each over a new connection, and never repeats one."""

    def __init__(self, target: KilledService, items: Sequence[str], name: str, pause: float) -> None:
        super().__init__(name=name, daemon=True)
        self.target, self.chance = target, random.Random(name)
        self._items, self._pause = items, pause
        self.over = threading.Event()  # when set, no more requests are sent
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            while not self.over.wait(self.pause_s()):
                self.step()
        except Exception as error:
            self.error = error

    def pause_s(self) -> float:
        """Return the seconds until the next request."""
        return self.chance.expovariate(1 / self._pause)

    def end(self) -> None:
        """Wait for the last answer; raise what has stopped the client, if anything has."""
        self.over.set()
        self.join()
        if self.error is not None:
            raise self.error

    def step(self) -> None:
        """Send a request and note what became of it."""
        raise NotImplementedError

    def ask(self, path: str, body: Any = None, method: str | None = None) -> tuple[int | str, Any]:
        """Return status and answer; without an answer, whether the request may have arrived."""
        try:
            return self.target.service.ask(path, body, method, timeout=600)
        except ConnectionRefusedError:
            return NOT_SENT, None
        except (OSError, HTTPException):
            return IN_DOUBT, None

    def some_items(self) -> tuple[str, ...]:
        return tuple(self.chance.sample(self._items, 3))


class Writer(Client):
    """Adds, replaces and removes lists whose ids no other writer has."""

    def __init__(self, target: KilledService, items: Sequence[str], name: str, pause: float) -> None:
        super().__init__(target, items, name, pause)
        self.writes: list[Write] = []
        self.group = f"{name}-group-"  # what the ids of the lists of its group begin with
        self.groups: list[list[str]] = []  # the own items of each group that was sent
        self.newest = 0  # number of the newest acknowledged write

    def step(self) -> None:
        write = Write(self._changes())
        self.writes.append(write)
        status, answer = self._send(write.changes)
        if isinstance(status, str):
            write.outcome = status
            return
        write.status, write.outcome = status, ACKNOWLEDGED if status == 200 else REFUSED
        if status == 200:
            self.newest = write.seq = answer["seq"]

    def _changes(self) -> tuple[SetList | RemoveList, ...]:
        drawn, chance = self.chance.random(), self.chance
        if drawn < SHARE_GROUP:
            group = tuple(self._list(f"{self.group}{number}", number) for number in range(GROUP))
            self.groups.append([str(one.items[end]) for one in group for end in (0, -1)])
            return group
        several = drawn < SHARE_GROUP + SHARE_SEVERAL
        numbers = chance.sample(range(SINGLES), chance.randint(2, MOST_LISTS) if several else 1)
        ids = [f"{self.name}-{number}" for number in numbers]
        if drawn > 1 - SHARE_REMOVED:
            return (RemoveList(ids[0]),)
        return tuple(self._list(id, number) for number, id in enumerate(ids))

    def _list(self, id: str, number: int) -> SetList:
        """Return a list that is unlike all others: its first and its last item are new."""
        title = f"{self.name}.{len(self.writes)}.{number}"
        return SetList(id, (f"{title}.first", *self.some_items(), f"{title}.last"), title)

    def _send(self, changes: Sequence[SetList | RemoveList]) -> tuple[int | str, Any]:
        if isinstance(changes[0], RemoveList):
            return self.ask(f"/v1/lists/{changes[0].id}", method="DELETE")
        return self.ask("/v1/lists", {"lists": [to_json(change)["list"] for change in changes]})


class Reader(Client):
    """Continues lists and checks that each answer comes from one state."""

    def __init__(
        self,
        target: KilledService,
        items: Sequence[str],
        name: str,
        requests: Sequence[Any],
        writers: Sequence[Writer],
        pause: float,
        share_large: float = 0.0,
    ) -> None:
        super().__init__(target, items, name, pause)
        self._requests, self._writers, self._share_large = requests, writers, share_large
        self.states: list[tuple[str, int]] = []  # of each answer: its hash, and the least number of a write in it
        self.answers: dict[tuple[str, int], Any] = {}  # items by hash and number of the request
        self.problems: list[str] = []  # of answers that are inconsistent
        # By what was killed since the service was last complete, and by status.
        self.failed: dict[str, Counter[int | str]] = defaultdict(Counter)
        self.groups = 0  # that were seen as a whole

    def step(self) -> None:
        number, target = self.chance.randrange(len(self._requests)), self.target
        before, least = target.disturbed, target.least
        groups = self.chance.choice(self._writers).groups[-PROBED:]
        probes = [[*self.some_items(), *group] for group in groups]
        lists = [*self._requests[number], *probes, *self._large_lists()]
        status, answer = self.ask("/v1/continue", {"lists": lists, "k": K})
        if status != 200:
            self.failed[name_of(before | target.disturbed)][status] += 1
            return
        fixed = len(self._requests[number])
        self.states.append((answer["model"]["hash"], least))
        self._compare(answer["model"]["hash"], number, answer["answers"][:fixed])
        probed = answer["answers"][fixed : fixed + len(probes)]
        self._check_groups(groups, [set(one["unknown"]) for one in probed])

    def _large_lists(self) -> list[list[str]]:
        """Return lists that make some of the requests so large that another process validates them."""
        lists, items = LARGE
        large = self.chance.random() < self._share_large
        return [self.chance.choices(self._items, k=items) for _ in range(lists)] if large else []

    def _compare(self, state: str, number: int, answers: Any) -> None:
        items = [[position["item"] for position in one["positions"]] for one in answers]
        if self.answers.setdefault((state, number), items) != items:
            self.problems.append(f"two answers to request {number} from the state {state}")

    def _check_groups(self, groups: Sequence[Sequence[str]], unknown: Sequence[set[str]]) -> None:
        known = [len(group) - len(found) for group, found in zip(groups, unknown, strict=True)]
        self.groups += sum(count > 0 for count in known)
        if sum(count > 0 for count in known) > 1 or any(0 < count < 2 * GROUP for count in known):
            self.problems.append(f"known items of the groups from {groups[0][0]} on: {known}")


def name_of(disturbed: frozenset[str]) -> str:
    if disturbed & WHOLE:
        return STARTED_AGAIN
    return ONLY_WORKERS if disturbed <= {WORKER, VALIDATOR} else OTHERS
