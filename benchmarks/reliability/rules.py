"""Check from an answer alone whether it follows the rules of its request."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any


class ObeysRules:
    """A check for a load: compares every 200 with its request body and records bodies that cause a violation."""

    def __init__(self, bodies: Sequence[bytes]) -> None:
        self.bodies = bodies
        self.notes: Counter[str] = Counter()

    def __call__(self, number: int, status: int, body: bytes) -> str | None:
        request = self.bodies[number % len(self.bodies)]
        found = self._broken(json.loads(request), json.loads(body)["answers"]) if status == 200 else None
        if found or status >= 500:
            self.notes[f"{found or status}: {request[:2000].decode(errors='replace')}"] += 1
        return found

    def _broken(self, request: dict[str, Any], answers: Sequence[dict[str, Any]]) -> str | None:
        found = [broken_rule(request, given, answer) for given, answer in zip(request["lists"], answers, strict=True)]
        return next(filter(None, found), None)


def broken_rule(request: dict[str, Any], given: Sequence[Any], answer: dict[str, Any]) -> str | None:
    positions, k = answer["positions"], request.get("k", 10)
    items = [position["item"] for position in positions]
    groups = Counter(position["group"] for position in positions).values()
    allowed, categories, least = (request.get(name) for name in ("allow", "categories", "min_score"))
    rules = {
        "twice the same": len({*items}) == len(items),
        "more than k": len(items) <= k,
        "fewer than k without a reason": len(items) == k or bool(answer["reason"]),
        "excluded": not {*items} & {*map(str, request.get("exclude", ()))},
        "not allowed": allowed is None or {*items} <= {*map(str, allowed)},
        "of another category": categories is None or {position["category"] for position in positions} <= {*categories},
        "too many of a group": max(groups, default=0) <= (request.get("max_per_group") or len(items)),
        "seen before": request.get("keep_seen", False) or not {*items} & {*map(str, given)},
        "below the least score": least is None or all(position["score"] >= least - 1e-5 for position in positions),
    }
    return next((f"rule broken: {name}" for name, kept in rules.items() if not kept), None)
