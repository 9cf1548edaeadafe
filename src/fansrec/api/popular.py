"""The most popular items under a caller's rules: what a list of only unknown items gets if the caller wants them."""

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fansrec.artifact import Artifact
from fansrec.engine.interface import CategoryLookup, Continuation, Engine
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting

NONE, POPULAR = "none", "popular"
FALLBACKS = (NONE, POPULAR)


def check_fallback(fallback: str) -> None:
    """Raise BadSetting if there is no such fallback."""
    if fallback not in FALLBACKS:
        raise BadSetting(f"fallback is {fallback!r}; it can be {' or '.join(FALLBACKS)}")


class PopularItems:
    """The most popular items of a model under a caller's rules, whose minimum score is ignored.

    It is a minimum for scores of the model, and these items have the share of all occurrences of items in training
    lists. A model without counts gives what continues an empty list.
    """

    def __init__(self, artifact: Artifact, engine: Engine) -> None:
        self._counts, self._engine = artifact.counts, engine
        self._categories = CategoryLookup(artifact.vocabulary.starts.tolist())
        self._last: tuple[Rules, int, Continuation] | None = None

    def __call__(self, k: int, rules: Rules) -> Continuation:
        """Return the first `k`; the last answer is kept, since lists, and often calls, share their rules."""
        if self._last is None or self._last[0] is not rules or self._last[1] != k:
            self._last = rules, k, self._find(k, rules)
        return self._last[2]

    def _find(self, k: int, rules: Rules) -> Continuation:
        if self._counts is None:
            return self._engine.continue_lists([np.zeros(0, dtype=np.int64)], k, replace(rules, min_score=None))[0]
        items = allowed_items(self._order, rules)[:k]
        shares = self._counts[items] / max(1, int(self._counts.sum()))
        return Continuation(items, shares.astype(np.float32), self._categories[items])

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """All items, those of the most training lists first, (M,)."""
        assert self._counts is not None
        order: NDArray[np.int64] = np.argsort(-self._counts, kind="stable")
        return order


def allowed_items(order: NDArray[np.int64], rules: Rules) -> NDArray[np.int64]:
    """Return the items of `order` (M,) that the rules allow, in this order."""
    allowed = np.full(len(order), rules.allow is None)
    allowed[np.array(rules.allow or (), dtype=np.int64)] = True
    allowed[np.array(rules.exclude, dtype=np.int64)] = False
    items: NDArray[np.int64] = order[allowed[order]]
    if rules.max_per_group is not None and rules.groups is not None:
        items = items[_earlier_of_group(rules.groups[items]) < rules.max_per_group]
    return items


def _earlier_of_group(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many earlier entries have the group of each entry, same shape."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    earlier = np.empty_like(order)
    earlier[order] = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return earlier
