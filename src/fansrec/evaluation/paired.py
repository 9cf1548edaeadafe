"""Systems compared list by list: differences with intervals, which one is best, and which ones are as good."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fansrec.evaluation.significance import ALPHA, Floats, list_means, resampled_means


@dataclass(frozen=True)
class Difference:
    """The mean difference of two systems over the lists that count for both; NaN if no list does."""

    mean: float
    low: float  # 95% interval of the mean
    high: float
    percent: float  # of the mean of the second system; NaN if that is 0
    percent_low: float
    percent_high: float
    lists: int

    @property
    def significant(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0

    @property
    def interval(self) -> list[float] | None:
        """Return the interval as JSON has it, None if there is no mean."""
        return pair(self.mean, self.low, self.high)

    @property
    def percent_interval(self) -> list[float] | None:
        return pair(self.percent, self.percent_low, self.percent_high)

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a row."""
        return {
            "difference": finite(self.mean),
            "interval": self.interval,
            "percent": finite(self.percent),
            "percent_interval": self.percent_interval,
            "lists": self.lists,
        }


@dataclass(frozen=True)
class Ranking:
    """Systems in order of their means, each compared with the first."""

    order: list[str]  # the best one first
    means: dict[str, float]
    behind: dict[str, Difference]  # the best one minus each other one, in that order

    @property
    def best(self) -> str:
        return self.order[0]

    @property
    def as_good(self) -> list[str]:
        """Return the best system and those that are not significantly worse, in order."""
        return [self.best, *(name for name, one in self.behind.items() if not one.significant)]

    def cheapest(self, costs: Mapping[str, float]) -> str:
        """Return the cheapest of the systems that are not significantly worse than the best one.

        `costs` is by system, for example its ms per list. Of equal costs, the better system is returned.
        """
        return min(self.as_good, key=lambda name: costs[name])


def paired_difference(left: Floats, right: Floats) -> Difference:
    """Return `left` minus `right`, (lists,) each, over the same lists in the same order; NaN marks lists that do not
    count.
    """
    return paired_differences(left[None], right[None])[0]


def paired_differences(left: Floats, right: Floats) -> list[Difference]:
    """Return the rows of `left` minus those of `right`, (pairs, lists) each.

    All pairs are resampled with the same draws of lists, so the intervals of several metrics can be compared.
    """
    if not left.shape[1]:
        left = right = np.full((len(left), 1), np.nan)  # no list counts
    both = ~np.isnan(left) & ~np.isnan(right)
    pairs = np.where(both, np.stack([left, right]), np.nan)
    means, resamples = list_means(pairs), resampled_means(pairs)  # (2, pairs) and (resamples, 2, pairs)
    absolute, drawn = means[0] - means[1], resamples[:, 0] - resamples[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):  # of a mean of 0
        percent, percent_bounds = 100 * absolute / means[1], bounds(100 * drawn / resamples[:, 1])
    columns = (absolute, *bounds(drawn), percent, *percent_bounds, both.sum(1))
    return [Difference(*own) for own in zip(*(column.tolist() for column in columns), strict=True)]


def bounds(drawn: Floats) -> Floats:
    """Return the bounds of the 95% interval, shape (2, …) from (resamples, …)."""
    return np.asarray(np.quantile(drawn, [ALPHA / 2, 1 - ALPHA / 2], axis=0))


def rank(values: Mapping[str, Floats]) -> Ranking:
    """Return the systems in order of the mean of their values, (lists,) each, over the same lists in the same order.

    Of equal means, the system that comes first stays first, and a system without a mean is last.
    """
    means = {name: float(list_means(own)) for name, own in values.items()}
    order = sorted(values, key=lambda name: -means[name] if math.isfinite(means[name]) else math.inf)
    best, *others = order
    if not others:
        return Ranking(order, means, {})
    rest = np.stack([values[name] for name in others])
    differences = paired_differences(np.broadcast_to(values[best], rest.shape), rest)
    return Ranking(order, means, dict(zip(others, differences, strict=True)))


def verdict(ranking: Ranking, metric: str, titles: Mapping[str, str] | None = None) -> str:
    """Return in one sentence which system is best in `metric`, or that the difference is not significant."""
    titles = titles or {name: name for name in ranking.order}
    best, *equal = (titles[name] for name in ranking.as_good)
    if math.isnan(ranking.means[ranking.best]):
        return f"no list counts for {metric}"
    if not ranking.behind:
        return f"there is nothing to compare {best} with"
    if len(equal) == len(ranking.behind):
        return f"{best} has the highest {metric}, but no difference to the others is significant"
    if equal:
        return f"{best} has the highest {metric}, but is not significantly better than {_enumerate(equal)}"
    others = "the other one" if len(ranking.behind) == 1 else f"each of the {len(ranking.behind)} others"
    return f"{best} is significantly better than {others} in {metric}"


def finite(value: Any) -> float | None:
    """Return a value as JSON has it, None for NaN and infinity."""
    return float(value) if math.isfinite(value) else None


def pair(mean: Any, low: Any, high: Any) -> list[float] | None:
    """Return an interval as JSON has it, None if there is no mean."""
    return [float(low), float(high)] if all(map(math.isfinite, (mean, low, high))) else None


def _enumerate(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
