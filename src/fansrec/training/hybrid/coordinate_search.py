"""Coordinate search: change one value at a time, and keep a change only if its gain is larger than the noise."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = dict[str, Any]
Figures = NDArray[np.float64]  # (lists, metrics)
ROUNDS = 2
FEWEST = 10  # lists: fewer do not decide anything


@dataclass(frozen=True)
class SearchResult:
    values: Values
    figures: Figures  # of these values
    tried: list[Values]  # all candidates in order, each with its "gain" over the best before it


def coordinate_search(
    start: Values, grids: Mapping[str, Sequence[Any]], evaluate: Callable[[Values], Figures], errors: float
) -> SearchResult:
    """Return the best values found from `start`, trying the values of each grid in turn.

    A change is kept if its mean gain over the same lists is more than `errors` standard errors.
    """
    best, figures = dict(start), evaluate(start)
    tried = [best | {"gain": 0.0}]
    for _ in range(ROUNDS):
        before = best
        for name, grid in grids.items():
            for value in (value for value in grid if value != best[name]):
                candidate = best | {name: value}
                found = evaluate(candidate)
                gain = gains(found, figures)
                tried.append(candidate | {"gain": round(float(gain.mean()), 5)})
                if is_significant(gain, errors):
                    best, figures = candidate, found
        if best == before:
            break
    return SearchResult(best, figures, tried)


def is_significant(gains: Figures, errors: float) -> bool:
    """Return whether the mean gain (lists,) is more than `errors` standard errors."""
    if len(gains) < FEWEST:
        return False
    return bool(gains.mean() > errors * gains.std(ddof=1) / np.sqrt(len(gains)))


def gains(figures: Figures, before: Figures) -> Figures:
    """Return the mean relative change (lists,) over all metrics, so that none is improved at the cost of another."""
    means = before.mean(0)
    relative: Figures = ((figures - before) / np.where(means > 0, means, 1)).mean(1)
    return relative
