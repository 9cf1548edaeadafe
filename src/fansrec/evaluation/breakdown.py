"""For which lists a model is good: metrics by length of the input, popularity of the target, known and new items."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.evaluation.bootstrap import mean_intervals
from fansrec.evaluation.metrics import Floats, counted, spread
from fansrec.evaluation.protocol import EvaluationLists, Protocol, cutoff, mean

LENGTH, POPULARITY = (
    "items of the input",
    "popularity of the target",
)  # in training lists that contain its items, on average
NEW_INPUT, NEW_TARGET = "new items in the input", "new items in the target"
QUARTERS = (0.25, 0.5, 0.75)
THIRDS = ("least popular third", "middle third", "most popular third")

Group = tuple[str, str, NDArray[np.bool_]]  # the property, its value, and the lists that have it (lists,)


def breakdown_part(
    values: Mapping[str, Floats], lists: EvaluationLists, protocol: Protocol, known: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Return the mean of every metric over each group of lists, with its interval.

    `values` are those of the lists that count, (lists that count,) by metric. `known` is how many training lists
    contain each item, (items,).
    """
    every = {name: spread(own, counted(lists.targets, cutoff(name), protocol.name)) for name, own in values.items()}
    return [
        {"by": by, "group": group, "lists": int(chosen.sum()), **_means({n: own[chosen] for n, own in every.items()})}
        for by, group, chosen in groups(lists, known)
    ]


def groups(lists: EvaluationLists, known: NDArray[np.int64]) -> Iterator[Group]:
    """Yield groups of lists; those by new items only where training lists lack items that these lists have."""
    yield from _by_length(np.array([len(items) for items in lists.inputs]))
    yield from _by_popularity(_list_means(known, lists.targets))
    for by, rows in ((NEW_INPUT, lists.inputs), (NEW_TARGET, lists.targets)):
        new = _list_means((known == 0).astype(np.float64), rows)
        if new.any():
            named = {"none": new == 0, "some": (new > 0) & (new < 1), "all": new == 1}
            yield from ((by, name, chosen) for name, chosen in named.items() if chosen.any())


def _by_length(sizes: NDArray[np.int64]) -> Iterator[Group]:
    """Yield about a quarter of the lists each; lists of equal length are in the same group."""
    for chosen in _divide(sizes, QUARTERS):
        first, last = sizes[chosen].min(), sizes[chosen].max()
        yield LENGTH, f"{first:,}" if first == last else f"{first:,} to {last:,}", chosen


def _by_popularity(popularity: Floats) -> Iterator[Group]:
    """Yield thirds of the lists by how many training lists contain an item of their target, on average."""
    found = _divide(popularity, (1 / 3, 2 / 3))
    for third, chosen in zip(THIRDS if len(found) == 3 else [""] * len(found), found, strict=True):
        first, last = popularity[chosen].min(), popularity[chosen].max()
        yield POPULARITY, f"{third} ({first:,.0f} to {last:,.0f} lists)".lstrip(), chosen


def _divide(sizes: NDArray[Any], shares: Sequence[float]) -> list[NDArray[np.bool_]]:
    """Return groups of the lists (lists,) between these quantiles of `sizes`; equal sizes are never apart."""
    ends = np.unique([*np.quantile(sizes, shares, method="lower"), sizes.max()])
    number = np.searchsorted(ends, sizes)  # of the group
    return [number == one for one in range(len(ends))]


def _list_means(of_items: NDArray[Any], rows: Sequence[NDArray[Any]]) -> Floats:
    """Return the mean over the items of each row, (lists,); repeated items count as often as they occur."""
    return np.array([of_items[row].mean() for row in rows])


def _means(values: Mapping[str, Floats]) -> dict[str, Any]:
    """Return mean and interval of each metric over the lists that count; None if none does."""
    row: dict[str, Any] = {}
    counted = {name: own[~np.isnan(own)] for name, own in values.items()}
    for size in {len(own) for own in counted.values()}:
        same = {name: own for name, own in counted.items() if len(own) == size}
        for (name, own), bounds in zip(same.items(), mean_intervals([*same.values()]), strict=True):
            row |= {name: mean(own) if size else None, f"{name}_ci": bounds}
    return {key: row[key] for name in values for key in (name, f"{name}_ci")}
