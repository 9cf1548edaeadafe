"""Item-item weights of new items beside those of a fitted linear model, whose own weights stay as they are.

A regression is not fitted again, since that takes as long as in training. The weights of a new item are cosines of the
lists of two items, as item-kNN has them, multiplied by one factor, so that they are as large as the fitted ones are for
pairs of trained items. Every row of the table gets a few more columns for them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fansrec.models.ranges import ranges
from fansrec.updating.evidence import Evidence, gather
from fansrec.updating.memory import Indices, Memory

Floats = NDArray[np.float64]
Weights = NDArray[np.float32]
Table = tuple[NDArray[np.int32], NDArray[np.float32]]  # items and weights, (M, n) each, as in models/linear

MORE_COLUMNS = 32  # new items that a trained item leads to, at most
ROWS_AT_ONCE = 1024  # that are copied
FLOAT_BITS = 31  # of a float32 without its sign; as a whole number it is in the same order
LARGEST_FLOAT = np.uint64((1 << FLOAT_BITS) - 1)
SHRINKAGE = 10.0  # lists that two items must share before their cosine is trusted
COMPARED_ITEMS, COMPARED_WEIGHTS = 500, 10  # trained items, and the strongest weights of each, that give the factor


@dataclass(frozen=True)
class Fitted:
    """The weights among T trained items, as the table of an artifact has them in its first `width` columns."""

    items: NDArray[np.int32]
    weights: NDArray[np.float32]
    places: Indices  # (T,): the row of each trained item
    width: int

    def rows(self, trained: Indices) -> Table:
        """Return the rows of some trained items, with trained items in the working order."""
        working = np.zeros(len(self.items), dtype=np.int32)  # entries without a weight lead to item 0
        working[self.places] = np.arange(len(self.places))
        where = self.places[trained]
        return working[self.items[where, : self.width]], self.weights[where, : self.width]

    def arranged(self, indices: Indices, added: "Added | None") -> Table:
        """Return the table with item i of the working order at `indices[i]` (M,), and with weights in more columns."""
        if added is None and np.array_equal(indices, np.arange(len(self.items))):
            return self.items[:, : self.width], self.weights[:, : self.width]
        final = np.full(len(self.items), indices[0], dtype=np.int32)
        final[self.places] = indices[: len(self.places)]
        shape = len(indices), self.width + (0 if added is None else MORE_COLUMNS)
        items, weights = np.full(shape, indices[0], dtype=np.int32), np.zeros(shape, dtype=np.float32)
        for start in range(0, len(self.places), ROWS_AT_ONCE):
            old, new = (where[start : start + ROWS_AT_ONCE] for where in (self.places, indices[: len(self.places)]))
            items[new, : self.width] = final[self.items[old, : self.width]]
            weights[new, : self.width] = self.weights[old, : self.width]
        if added is not None:
            where = indices[added.sources], added.columns
            items[where], weights[where] = indices[added.targets], added.weights
        return items, weights


@dataclass(frozen=True)
class Added:
    """Weights from `sources` to `targets`, items of the working order, and the columns of the table for them."""

    sources: Indices
    columns: Indices
    targets: Indices
    weights: Weights


def new_weights(fitted: Fitted, memory: Memory, new: Indices, evidence: Evidence) -> Added:
    """Return the weights from and to the items `new` (A,)."""
    rows, others, together = evidence.together
    kept = others != new[rows]
    rows, others, together = rows[kept], others[kept], together[kept]
    counts = memory.counts.astype(np.float64)
    counts[new] = evidence.counts
    values = _factor(fitted, memory, new) * _cosines(together, counts[new[rows]], counts[others])
    trained = ~np.isin(others, new)  # a pair of new items is there in both directions already
    sources = np.concatenate([new[rows], others[trained]])
    targets = np.concatenate([others, new[rows[trained]]])
    first = np.full(len(counts), fitted.width)
    first[new] = 0  # the rows of new items have no other weights, so that they have room for more of them
    return _strongest(sources, targets, np.concatenate([values, values[trained]]), first, fitted.width + MORE_COLUMNS)


def _cosines(together: Floats, counts: Floats, others: Floats) -> Floats:
    """Return the shrunken cosines of pairs of items that share `together` lists of `counts` and `others`."""
    found: Floats = together / (np.sqrt(counts * others) + SHRINKAGE)
    return found


def _factor(fitted: Fitted, memory: Memory, new: Indices) -> float:
    """Return how many times as large as the cosines the strongest weights of trained items are."""
    trained = np.setdiff1d(np.flatnonzero(memory.counts), new)
    sample = trained[:: max(1, len(trained) // COMPARED_ITEMS)]
    if not len(sample) or not fitted.width:
        return 0.0
    rows, others, together = gather(memory, sample, [[]] * len(sample)).together
    counts = memory.counts.astype(np.float64)
    values = _cosines(together, counts[sample[rows]], counts[others])
    items, weights = fitted.rows(sample)
    best = np.argsort(-weights, axis=1, kind="stable")[:, :COMPARED_WEIGHTS]
    strongest = np.take_along_axis(items, best, 1).astype(np.int64)
    keys = rows * memory.vocabulary + others
    asked = np.arange(len(sample))[:, None] * memory.vocabulary + strongest
    found = np.minimum(np.searchsorted(keys, asked), max(0, len(keys) - 1))
    there = keys[found] == asked
    largest = np.take_along_axis(weights, best, 1)
    return float(np.maximum(largest[there], 0).sum() / max(values[found][there].sum(), 1e-12))


def _strongest(sources: Indices, targets: Indices, values: Floats, first: Indices, width: int) -> Added:
    """Return the strongest of the weights `values`, for the columns `first[source]` to `width` of each source (M,)."""
    sources, targets, weights = sorted_weights(sources, targets, values.astype(np.float32), len(first))
    columns = first[sources] + ranges(np.zeros(len(first), np.int64), np.bincount(sources, minlength=len(first)))
    kept = columns < width
    return Added(sources[kept], columns[kept], targets[kept], weights[kept])


def sorted_weights(
    sources: Indices, targets: Indices, weights: Weights, items: int
) -> tuple[Indices, Indices, Weights]:
    """Return weights, which are not negative, by source, the largest of each source first, then by target.

    Whole numbers of 64 bits are sorted, made of a source, a weight and a target: a tenth of the time of `lexsort`. If
    there are too many items for that, some sources are sorted after others.
    """
    bits = int(targets.max(initial=0)).bit_length()
    at_once = 1 << (64 - FLOAT_BITS - bits)
    smallness = LARGEST_FLOAT - weights.view(np.uint32).astype(np.uint64)
    within = smallness << np.uint64(bits) | targets.astype(np.uint64)
    found = []
    for start in range(0, items, at_once):
        some = (sources >= start) & (sources < start + at_once)
        keys = (sources[some] - start).astype(np.uint64) << np.uint64(FLOAT_BITS + bits) | within[some]
        keys.sort()
        smallness = keys >> np.uint64(bits) & LARGEST_FLOAT
        found.append(
            (
                (keys >> np.uint64(FLOAT_BITS + bits)).astype(np.int64) + start,
                (keys & np.uint64((1 << bits) - 1)).astype(np.int64),
                (LARGEST_FLOAT - smallness).astype(np.uint32).view(np.float32),
            )
        )
    sorted_sources, sorted_targets, sorted_weights = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return sorted_sources, sorted_targets, sorted_weights
