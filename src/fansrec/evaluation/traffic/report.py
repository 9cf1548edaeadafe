"""The report of `fans events report`: acceptance by model and position, and differences between models."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fansrec.evaluation.significance import Floats
from fansrec.evaluation.traffic.counts import (
    ACCEPTED,
    PLAYED,
    SHOWN,
    SKIPPED,
    TYPES,
    ModelCounts,
    count_events,
    offers,
    offers_of_clients,
)
from fansrec.evaluation.traffic.intervals import bounds, resampled_shares, wilson

FEW_CLIENTS = 30  # fewer clients than this are too few for an interval over clients

Report = dict[str, Any]


def report(events: Iterable[Mapping[str, Any]], seed: int = 0) -> Report:
    """Return counts, acceptance and differences as JSON has them; `seed` is that of the bootstrap over clients.

    Acceptance is accepted / shown items if every model has `shown` events, otherwise accepted / (accepted + skipped).
    """
    counts = count_events(events)
    by_shown = all(model.items[SHOWN] for model in counts.values())
    table, numbers = offers_of_clients(counts, by_shown)
    shares = resampled_shares(table, numbers, np.random.default_rng(seed)) if counts else np.empty((0, 0))
    models = [_model(name, own, by_shown, bounds(shares[:, at])) for at, (name, own) in enumerate(counts.items())]
    return {
        "events": sum(sum(own.events.values()) for own in counts.values()),
        "clients": len({client for own in counts.values() for client in own.clients}),
        "basis": "shown" if by_shown else "accepted + skipped",
        "seed": seed,
        "models": models,
        "differences": _differences(models, shares),
        "notes": _notes(counts, by_shown),
    }


def _model(name: str, counts: ModelCounts, by_shown: bool, by_client: list[float] | None) -> Report:
    return {
        "model": name,
        "events": {type: counts.events[type] for type in TYPES},
        "clients": len(counts.clients),
        "events_without_client": counts.anonymous.total(),
        **_acceptance(counts.items, by_shown),
        "interval_by_client": by_client,
        "positions": [
            {"position": at, **_acceptance(counts.at(at), by_shown)} for at in range(1, counts.last_position + 1)
        ],
    }


def _acceptance(amounts: Mapping[str, int], by_shown: bool) -> Report:
    """Return the items by type of event, and the share of those that were accepted, at most 1."""
    accepted, offered = offers(amounts, by_shown)
    accepted = min(accepted, offered)
    return {
        **{type: amounts[type] for type in (SHOWN, ACCEPTED, SKIPPED, PLAYED)},
        "acceptance": accepted / offered if offered else None,
        "interval": wilson(accepted, offered),
    }


def _differences(models: list[Report], shares: Floats) -> list[Report]:
    """Return the difference of each model from the one with the most clients and events, the baseline."""
    if len(models) < 2:
        return []
    sizes = [(model["clients"], sum(model["events"].values())) for model in models]
    baseline = sizes.index(max(sizes))
    return [
        _difference(model, models[baseline], shares[:, at] - shares[:, baseline])
        for at, model in enumerate(models)
        if at != baseline
    ]


def _difference(model: Report, baseline: Report, drawn: Floats) -> Report:
    interval = bounds(drawn)
    enough = min(_clients(model), _clients(baseline)) >= FEW_CLIENTS
    own, other = model["acceptance"], baseline["acceptance"]
    return {
        "model": model["model"],
        "baseline": baseline["model"],
        "difference": None if own is None or other is None else own - other,
        "interval": interval,
        "enough_clients": enough,
        "significant": enough and interval is not None and (interval[0] > 0 or interval[1] < 0),
    }


def _clients(model: Report) -> int:
    """Return the number of clients that the bootstrap draws from."""
    return int(model["clients"] + model["events_without_client"])


def _notes(counts: Mapping[str, ModelCounts], by_shown: bool) -> list[str]:
    """Return what makes the figures less certain than they look."""
    notes = []
    if not by_shown and any(own.items[SHOWN] for own in counts.values()):
        without = ", ".join(name for name, own in counts.items() if not own.items[SHOWN])
        notes.append(f"no `shown` events of {without}, so those of other models are not used")
    for name, own in counts.items():
        if by_shown and own.items[ACCEPTED] > own.items[SHOWN]:
            notes.append(f"{name}: more items were accepted than shown; report every answer that is shown")
        if len(own.clients) + own.anonymous.total() < FEW_CLIENTS:
            notes.append(f"{name}: {len(own.clients)} clients are too few for intervals over clients")
        if own.anonymous:
            number = own.anonymous.total()
            notes.append(f"{name}: {number:,} events without a client; each counts as a client of its own in intervals")
    return notes
