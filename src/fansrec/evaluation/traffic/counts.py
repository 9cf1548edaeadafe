"""Counts of events: by model, by position, and by client."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fansrec.evaluation.significance import Floats

SHOWN, ACCEPTED, SKIPPED, PLAYED = TYPES = ("shown", "accepted", "skipped", "played")
Amounts = dict[str, int]  # items by type of event; of a `shown` event the positions that were visible


class ModelCounts:
    """The counts of one model. A `shown` event with `count` n means that the positions 1 to n were visible."""

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()
        self.items: Counter[str] = Counter()
        self.positions: dict[str, Counter[int]] = {type: Counter() for type in TYPES}  # of SHOWN: the last position
        self.clients: dict[str, Counter[str]] = {}
        self.anonymous: Counter[tuple[str, int]] = Counter()  # type and items of events without a client

    def add(self, event: Mapping[str, Any]) -> None:
        type, client = event["type"], event.get("client")
        items = event["count"] if type == SHOWN else 1
        self.events[type] += 1
        self.items[type] += items
        position = items if type == SHOWN else event.get("position")
        if position is not None:
            self.positions[type][position] += 1
        if client is None:
            self.anonymous[type, items] += 1
        else:
            self.clients.setdefault(client, Counter())[type] += items

    def at(self, position: int) -> Amounts:
        """Return the items at a position by type of event."""
        amounts = {type: self.positions[type][position] for type in TYPES if type != SHOWN}
        return amounts | {SHOWN: sum(n for last, n in self.positions[SHOWN].items() if last >= position)}

    @property
    def last_position(self) -> int:
        return max((position for own in self.positions.values() for position in own), default=0)


def count_events(events: Iterable[Mapping[str, Any]]) -> dict[str, ModelCounts]:
    """Return the counts of each model, sorted by name; types of events of later versions are ignored."""
    counts: dict[str, ModelCounts] = {}
    for event in events:
        if event["type"] in TYPES:
            counts.setdefault(event["model"], ModelCounts()).add(event)
    return dict(sorted(counts.items()))


def offers(amounts: Mapping[str, int], by_shown: bool) -> tuple[int, int]:
    """Return (accepted, offered): how many items were accepted, of how many that were shown or decided about."""
    offered = amounts[SHOWN] if by_shown else amounts[ACCEPTED] + amounts[SKIPPED]
    return amounts[ACCEPTED], offered


def offers_of_clients(counts: Mapping[str, ModelCounts], by_shown: bool) -> tuple[Floats, Floats]:
    """Return accepted and offered items of clients, (kinds of clients, models, 2), and the number of each kind.

    Clients with the same numbers are of one kind. An event without a client counts as a client of its own.
    """
    models = [*counts.values()]
    kinds: Counter[tuple[tuple[int, int], ...]] = Counter()
    for client in {client for model in models for client in model.clients}:
        none = Counter[str]()
        kinds[tuple(offers(model.clients.get(client, none), by_shown) for model in models)] += 1
    for at, model in enumerate(models):
        for (type, items), number in model.anonymous.items():
            own = offers(Counter({type: items}), by_shown)
            kinds[tuple(own if other == at else (0, 0) for other in range(len(models)))] += number
    rows = sorted(kinds)  # so that the same events give the same draws
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(models), 2)
    return table, np.array([kinds[row] for row in rows], dtype=np.float64)
