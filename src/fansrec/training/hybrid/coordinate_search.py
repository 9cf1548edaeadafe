"""A search that changes one value at a time and is not led astray by noise."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = dict[str, Any]
Figures = NDArray[np.float64]  # (lists, figures)
ROUNDS = 2
FEWEST = 10  # lists: nothing can be told from fewer


@dataclass(frozen=True)
class Climbed:
    values: Values
    figures: Figures
    tried: list[Values]


def climb(
    start: Values, grids: Mapping[str, Sequence[Any]], judge: Callable[[Values], Figures], sureness: float
) -> Climbed:
    """The best values found. A change is kept if it gains more than `sureness` standard errors over the same lists."""
    best, figures = dict(start), judge(start)
    tried = [best | {"gain": 0.0}]
    for _ in range(ROUNDS):
        before = best
        for name, grid in grids.items():
            for value in (value for value in grid if value != best[name]):
                candidate = best | {name: value}
                judged = judge(candidate)
                gain = _gains(judged, figures)
                tried.append(candidate | {"gain": round(float(gain.mean()), 5)})
                if _sure(gain, sureness):
                    best, figures = candidate, judged
        if best == before:
            break
    return Climbed(best, figures, tried)


def _sure(gains: Figures, sureness: float) -> bool:
    if len(gains) < FEWEST:
        return False
    return bool(gains.mean() > sureness * gains.std(ddof=1) / np.sqrt(len(gains)))


def _gains(figures: Figures, before: Figures) -> Figures:
    """(lists,): the mean relative change of all figures, so that none is bought with another."""
    means = before.mean(0)
    gains: Figures = ((figures - before) / np.where(means > 0, means, 1)).mean(1)
    return gains
