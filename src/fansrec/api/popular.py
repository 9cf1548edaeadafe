"""The most popular items under a caller's rules: what a list of only unknown items gets if the caller wants them."""

import numpy as np
from numpy.typing import NDArray

from fansrec.engine.interface import CategoryLookup, Continuation
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting

NONE, POPULAR = "none", "popular"
FALLBACKS = (NONE, POPULAR)


def check_fallback(fallback: str) -> None:
    """Raise BadSetting if there is no such fallback."""
    if fallback not in FALLBACKS:
        raise BadSetting(f"fallback is {fallback!r}; it can be {' or '.join(FALLBACKS)}")


def popular_items(
    counts: NDArray[np.int64], order: NDArray[np.int64], categories: CategoryLookup, k: int, rules: Rules
) -> Continuation:
    """Return the first `k` items of `order` (M,) that the rules allow, scored by their share of all `counts` (M,).

    A minimum score is ignored: it is one for the scores of the model.
    """
    allowed = np.full(len(counts), rules.allow is None)
    allowed[np.array(rules.allow or (), dtype=np.int64)] = True
    allowed[np.array(rules.exclude, dtype=np.int64)] = False
    items = order[allowed[order]]
    if rules.max_per_group is not None and rules.groups is not None:
        items = items[_earlier_of_group(rules.groups[items]) < rules.max_per_group]
    items = items[:k]
    return Continuation(items, (counts[items] / max(1, counts.sum())).astype(np.float32), categories[items])


def _earlier_of_group(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many earlier entries have the group of each entry, same shape."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    earlier = np.empty_like(order)
    earlier[order] = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return earlier
