"""Item-item weights of new items beside those of a fitted linear model, whose own weights stay as they are.

A regression is not fitted again, since that takes as long as in training. The weights of a new item are cosines of the
lists of two items, as item-kNN has them, multiplied by one factor, so that they are as large as the fitted ones are for
pairs of trained items. Every row of the table gets a few more columns for them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.models.ranges import ranges
from fansrec.updating.evidence import Evidence, gather
from fansrec.updating.memory import Indices, Memory

Floats = NDArray[np.float64]
Table = tuple[NDArray[np.int32], NDArray[np.float32]]  # items and weights, (M, n) each, as in models/linear

MORE_COLUMNS = 32  # new items that a trained item leads to, at most
SHRINKAGE = 10.0  # lists that two items must share before their cosine is trusted
COMPARED_ITEMS, COMPARED_WEIGHTS = 500, 10  # trained items, and the strongest weights of each, that give the factor


def with_new_items(table: Table, memory: Memory, new: Indices, evidence: Evidence) -> Table:
    """Return the table (M, n + MORE_COLUMNS) with the weights from and to the items `new` (A,), which have none yet."""
    rows, others, together = evidence.together(memory)
    kept = others != new[rows]
    rows, others, together = rows[kept], others[kept], together[kept]
    counts = memory.counts.astype(np.float64)
    counts[new] = evidence.counts
    values = _factor(table, memory, new) * _cosines(together, counts[new[rows]], counts[others])
    trained = ~np.isin(others, new)  # a pair of new items is there in both directions already
    sources = np.concatenate([new[rows], others[trained]])
    targets = np.concatenate([others, new[rows[trained]]])
    return _widened(table, new, sources, targets, np.concatenate([values, values[trained]]))


def _cosines(together: Floats, counts: Floats, others: Floats) -> Floats:
    """Return the shrunken cosines of pairs of items that share `together` lists of `counts` and `others`."""
    found: Floats = together / (np.sqrt(counts * others) + SHRINKAGE)
    return found


def _factor(table: Table, memory: Memory, new: Indices) -> float:
    """Return how many times as large as the cosines the strongest weights of trained items are."""
    trained = np.setdiff1d(np.flatnonzero(memory.counts), new)
    sample = trained[:: max(1, len(trained) // COMPARED_ITEMS)]
    if not len(sample) or not table[0].shape[1]:
        return 0.0
    rows, others, together = gather(memory, sample, [[]] * len(sample)).together(memory)
    counts = memory.counts.astype(np.float64)
    values = _cosines(together, counts[sample[rows]], counts[others])
    best = np.argsort(-table[1][sample], axis=1, kind="stable")[:, :COMPARED_WEIGHTS]
    strongest = np.take_along_axis(table[0][sample], best, 1).astype(np.int64)
    keys = rows * memory.vocabulary + others
    asked = np.arange(len(sample))[:, None] * memory.vocabulary + strongest
    found = np.minimum(np.searchsorted(keys, asked), max(0, len(keys) - 1))
    there = keys[found] == asked
    fitted = np.take_along_axis(table[1][sample], best, 1)
    return float(np.maximum(fitted[there], 0).sum() / max(values[found][there].sum(), 1e-12))


def _widened(table: Table, new: Indices, sources: Indices, targets: Indices, values: Floats) -> Table:
    """Return the table with the strongest of the weights `values` from `sources` to `targets` in more columns.

    The rows of new items have no other weights, so that they have room for more of them.
    """
    rows, width = table[0].shape
    wide: Any = tuple(np.zeros((rows, width + MORE_COLUMNS), array.dtype) for array in table)
    for array, old in zip(wide, table, strict=True):
        array[:, :width] = old
    first = np.full(rows, width)
    first[new] = 0
    order = np.lexsort((targets, -values, sources))
    sources, targets, values = sources[order], targets[order], values[order]
    columns = first[sources] + ranges(np.zeros(rows, np.int64), np.bincount(sources, minlength=rows))
    kept = columns < width + MORE_COLUMNS
    wide[0][sources[kept], columns[kept]] = targets[kept]
    wide[1][sources[kept], columns[kept]] = values[kept]
    return wide  # type: ignore[no-any-return]
