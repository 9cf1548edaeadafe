"""Formats what an engine returns with the ids and names of a vocabulary: the one place for Python, HTTP and files."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from fansrec.engine.interface import Continuation
from fansrec.engine.rules import Rules
from fansrec.vocabulary import Vocabulary

CACHED_ITEMS = 1 << 13  # the popular ones; more would take memory in every worker of a service

Details = Callable[[int], dict[str, Any]]


def item_details(vocabulary: Vocabulary) -> Details:
    """Return a cached function from an item index to the fields `item`, `name`, `group` and `category`."""

    @lru_cache(CACHED_ITEMS)
    def details(index: int) -> dict[str, Any]:
        return {
            "item": vocabulary.id(index),
            "name": vocabulary.name(index),
            "group": vocabulary.group(index),
            "category": vocabulary.category(index),
        }

    return details


def format_answer(
    answer: Continuation,
    unknown: list[object],
    k: int,
    rules: Rules,
    details: Details,
    digits: int | None = None,
    explanations: Sequence[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return the continuation of one list as the fields of an `Answer`, its scores rounded to `digits` if given.

    `unknown` are the items of the input that the model does not know; `k` items were requested under `rules`.
    `explanations` are the fields of the explanation of each item, if they were requested.
    """
    scores = answer.scores.astype(np.float64)
    scores = scores if digits is None else scores.round(digits)
    scored = zip(answer.items.tolist(), scores.tolist(), strict=True)
    positions = [{**details(item), "score": score} for item, score in scored]
    for position, explanation in zip(positions, explanations or (), strict=explanations is not None):
        position["explanation"] = explanation
    return {
        "positions": positions,
        "unknown": unknown,
        "reason": None if len(scores) == k else shortage_reason(len(scores), k, rules),
        "fallback": None,
    }


def shortage_reason(count: int, k: int, rules: Rules) -> str:
    """Return the message that says why an answer has only `count` of `k` items."""
    limits = {
        "exclude": bool(rules.exclude),
        **dict.fromkeys(rules.allowed_by, rules.allow is not None),
        "max_per_group": rules.max_per_group is not None,
        "min_score": rules.min_score is not None,
        "the items of the input": not rules.keep_seen,
    }
    used = ", ".join(name for name, is_used in limits.items() if is_used)
    return f"only {count} of {k} items are left under the rules ({used or 'the catalog has no more'})"
