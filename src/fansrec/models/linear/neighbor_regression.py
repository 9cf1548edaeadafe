"""The regressions of EASE and SLIST for catalogs whose matrices are too large to invert.

Each item is regressed on its predictors only, the items of the same lists that explain most of it (after Steck's Markov
random fields, NeurIPS 2019). That suffices for most items, which are in few lists; popular items depend a little on
nearly all others. Those are regressed on all items, by a few steps of the conjugate gradient method from there.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.errors import BadSetting
from fansrec.models.linear.config import RegressionConfig
from fansrec.models.linear.cooccurrence import portions
from fansrec.models.linear.item_weights import Table, merge, strongest
from fansrec.models.linear.pair_sums import Entries, Indices, PairSums, Values, highest
from fansrec.models.linear.symmetric_matrix import SymmetricMatrix
from fansrec.models.ranges import ranges
from fansrec.models.threads import map_in_threads

ENTRIES = 1 << 26  # of the matrix: 1 GB
SOLVED_AT_ONCE = 1 << 20  # cells of the predictors' matrices, and entries that are read for them
LOOKUP_CELLS = 1 << 23
HALVINGS = 10
STEPS = 3
REFINED_CELLS = 1 << 27  # weights to popular items: 512 MB
REFINED_ENTRIES = 1 << 35  # entries of the matrix times popular items
REFINED_AT_ONCE = 64  # more at once take longer: they do not fit in the cache


def approximate(sums: PairSums, config: RegressionConfig, width: int, diagonal: float = 0.0) -> Table:
    """Return the `width` strongest weights of each item; `diagonal` bounds its weight for itself, as in slist.py."""
    regressions = Regressions(sums.sparse(ENTRIES), len(sums), config, diagonal)
    regressions.solve()
    count = min(REFINED_CELLS // len(sums), REFINED_ENTRIES // max(1, len(regressions.entries.rows)))
    popular = np.argsort(-sums.popularity, kind="stable")[:count]
    weights = torch.empty(len(sums), len(popular))

    def refine(first: int) -> None:
        some = slice(first, first + REFINED_AT_ONCE)
        weights[:, some] = regressions.refined(popular[some])

    map_in_threads(refine, range(0, len(popular), REFINED_AT_ONCE))
    table = regressions.table(popular, width)
    merge(table, torch.from_numpy(popular), weights)
    return table


class Regressions:
    """The regression of each item on its predictors, itself among them."""

    def __init__(self, entries: Entries, items: int, config: RegressionConfig, diagonal: float) -> None:
        """`entries` are those of `items` rows."""
        own = entries.rows == entries.columns
        variances = np.full(items, config.regularization, np.float32)
        variances[entries.rows[own]] += entries.within[own]
        self.matrix = SymmetricMatrix.of(entries.rows, entries.columns, entries.within, variances)
        self.entries, self.bound = entries, diagonal
        gains = np.where(own, np.inf, entries.across / np.sqrt(variances[entries.columns]))
        self.chosen = highest(entries.rows, gains, config.predictors)  # entries of predictors, target after target
        self.counts = np.bincount(entries.rows[self.chosen], minlength=items)
        self.starts = np.cumsum(self.counts) - self.counts
        self.weights = np.zeros(len(self.chosen), np.float32)
        self.bounded = np.zeros(items, np.bool_)  # whether an item's weight for itself is at the bound

    def solve(self) -> None:
        """Regress each item on its predictors, items with similar numbers of them together."""
        items = len(self.counts)
        order = np.argsort(self.counts, kind="stable")
        order = order[self.counts[order] > 0]
        rows, columns = self.entries.rows[self.chosen], self.entries.columns[self.chosen]
        reads = np.bincount(rows, self.matrix.links.lengths[columns], items)
        cost = np.maximum(np.maximum(self.counts**2, reads) / SOLVED_AT_ONCE, items / LOOKUP_CELLS)
        groups, threads = [order[some] for some in portions(cost[order])], torch.get_num_threads()
        map_in_threads(self._solve_groups, [groups[first::threads] for first in range(threads)])

    def _solve_groups(self, groups: Sequence[Indices]) -> None:
        """Regress groups of items, one after the other."""
        lookup = np.full((max(map(len, groups), default=0), len(self.counts)), -1, np.int32)
        for targets in groups:
            self._solve(targets, lookup)

    def _solve(self, targets: Indices, lookup: NDArray[np.int32]) -> None:
        """Regress some items; `lookup` (targets or more, M) is -1 everywhere, before and after."""
        counts = self.counts[targets]
        which = ranges(self.starts[targets], counts)
        entries = self.entries.select(self.chosen[which])
        cells = np.repeat(np.arange(len(targets)), counts), ranges(np.zeros_like(counts), counts)
        own = entries.rows == entries.columns
        sides = np.zeros((len(targets), counts.max(), 2), np.float32)
        sides[cells] = np.stack([entries.across, own], 1)
        lookup[cells[0], entries.columns] = cells[1]
        solution = solutions(self._matrices(cells, entries.columns, lookup, counts.max()), sides)[cells]
        lookup[cells[0], entries.columns] = -1
        over = np.maximum(solution[own, 0] - self.bound, 0) / solution[own, 1]
        self.weights[which] = solution[:, 0] - over[cells[0]] * solution[:, 1]
        self.bounded[targets] = over > 0

    def _matrices(
        self, cells: tuple[Indices, Indices], items: NDArray[np.int32], lookup: NDArray[np.int32], size: int
    ) -> Values:
        """Return each target's matrix, (targets, size, size): the lower triangle; I where there is no predictor."""
        target, place = cells
        matrices = np.zeros((target[-1] + 1, size, size), np.float32)
        matrices[:, np.arange(size), np.arange(size)] = 1
        matrices[target, place, place] = self.matrix.diagonal[items]
        links = self.matrix.links
        lengths = links.lengths[items]
        read = ranges(links.starts[items], lengths)
        row = np.repeat(np.arange(len(items), dtype=np.int32), lengths)
        other = lookup.reshape(-1)[(target * lookup.shape[1])[row] + links.columns[read]]
        found = np.flatnonzero(other >= 0)
        target, place, other = target[row[found]], place[row[found]], other[found]
        matrices[target, np.maximum(place, other), np.minimum(place, other)] = links.values[read[found]]
        return matrices

    def refined(self, targets: Indices) -> Tensor:
        """Return the weights (M, targets) of all items for these targets."""
        weights, sides = (torch.zeros(len(self.counts), len(targets)) for _ in range(2))
        which = ranges(self.starts[targets], self.counts[targets])
        columns = np.repeat(np.arange(len(targets)), self.counts[targets])
        weights.numpy()[self.entries.columns[self.chosen[which]], columns] = self.weights[which]
        ends = np.searchsorted(self.entries.rows, targets, side="right")
        lengths = ends - np.searchsorted(self.entries.rows, targets)
        which, columns = ranges(ends - lengths, lengths), np.repeat(np.arange(len(targets)), lengths)
        sides.numpy()[self.entries.columns[which], columns] = self.entries.across[which]
        bounded = np.flatnonzero(self.bounded[targets])
        fixed = torch.from_numpy(targets[bounded]), torch.from_numpy(bounded)
        self.matrix.descend(weights, sides, fixed, STEPS)
        weights[torch.from_numpy(targets), torch.arange(len(targets))] = 0
        return weights

    def table(self, without: Indices, width: int) -> Table:
        """Return the strongest weights of each item's regressions, except to some items."""
        rows, columns = self.entries.rows[self.chosen], self.entries.columns[self.chosen]
        kept = rows != columns
        kept[np.isin(rows, without)] = False
        from_, to, weights = (torch.from_numpy(array[kept]) for array in (columns, rows, self.weights))
        return strongest(from_.long(), to, weights, len(self.counts), width)


def solutions(matrices: Values, sides: Values) -> Values:
    """Return the solutions (targets, size, 2) of equations whose matrices are given by their lower triangles.

    Entries that were left out can make a matrix indefinite. The others off the diagonal are halved until it is not.
    """
    lower = torch.from_numpy(matrices)
    factors, failed = torch.linalg.cholesky_ex(lower)
    for _ in range(HALVINGS):
        bad = failed.nonzero()[:, 0]
        if len(bad):
            lower[bad] = (lower[bad] + torch.diag_embed(lower[bad].diagonal(dim1=1, dim2=2))) / 2
            factors[bad], failed[bad] = torch.linalg.cholesky_ex(lower[bad])
    if failed.any():
        raise BadSetting("regularization is too small for these lists; give a larger one")
    solution: Values = torch.cholesky_solve(torch.from_numpy(sides), factors).numpy()
    return solution
