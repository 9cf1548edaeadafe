"""The input items that speak for an item: by their evidence, and by the item's score without them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fansrec.engine.interface import Continuation, Engine
from fansrec.engine.rules import Rules
from fansrec.explaining.evidence import Floats, Indices, Input

MARGIN = 1e-4  # a score is lower if it is lower by more than this share, so that rounding does not count
TRIALS = 3  # input items that are tried for an item by their evidence
MAX_REMOVED = 32  # input items that are removed at once, one in each list
MAX_NAMED = 5  # input items that are named for an item

Named = list[tuple[int, float]]  # input items and their weights; those of all input items sum to 1


@dataclass(frozen=True)
class Removal:
    """An answer with K items, and the scores of these items without one of the D distinct input items."""

    engine: Engine
    input: Input
    count: int
    answer: Continuation

    def named(self, evidence: Floats) -> list[Named]:
        """Return for each item the input items that speak for it, the strongest first; `evidence` is (K, D).

        The list is continued again without the strongest input item of each item. Where this does not lower the
        score, the next strongest one is tried; after some trials, all input items are removed, one by one, and weigh as
        much as they lower the score.
        """
        drops, candidates = np.full(evidence.shape, np.nan), evidence.copy()
        for _ in range(TRIALS):
            self._remove(_untried(candidates, drops), drops)
            candidates[drops <= 0] = 0
        failed = ~(_of_strongest(candidates, drops) > 0)
        if failed.any():
            untried = np.flatnonzero(np.isnan(drops).all(0))
            likeliest = np.argsort(-evidence[:, untried].sum(0), kind="stable")
            self._remove(untried[likeliest], drops)
        return self._strongest(np.where(failed[:, None], np.nan_to_num(drops), candidates))

    def _remove(self, columns: Indices, drops: Floats) -> None:
        """Write to `drops` (K, D) by how much the scores are lower without input items; 0 if they are not."""
        columns = columns[:MAX_REMOVED]
        if not len(columns):
            return
        scores = self.answer.scores.astype(np.float64)
        lists = [self.input.given[self.input.given != item] for item in self.input.distinct[columns]]
        lower = scores - scores_of(self.engine, lists, self.count, self.answer.items)  # (B, K)
        drops[:, columns] = np.where(lower > MARGIN * np.abs(scores), lower, 0).T

    def _strongest(self, weights: Floats) -> list[Named]:
        """Return the input items with the highest weights (K, D) above 0, and their shares of all weights."""
        order = np.argsort(-weights, axis=1, kind="stable")[:, :MAX_NAMED]
        shares = np.take_along_axis(weights, order, 1) / np.maximum(weights.sum(1), np.finfo(float).tiny)[:, None]
        rows = zip(self.input.distinct[order].tolist(), shares.tolist(), strict=True)
        return [[(item, share) for item, share in zip(*row, strict=True) if share > 0] for row in rows]


def _of_strongest(candidates: Floats, drops: Floats) -> Floats:
    """Return the drops (K,) of the strongest candidates; 0 where there is none."""
    drops_of: Floats = drops[np.arange(len(drops)), candidates.argmax(1)]
    return np.where(candidates.any(1), drops_of, 0)


def _untried(candidates: Floats, drops: Floats) -> Indices:
    """Return the strongest candidates whose removal was not tried, those of most items first."""
    missing = np.isnan(_of_strongest(candidates, drops))
    columns, items = np.unique(candidates.argmax(1)[missing], return_counts=True)
    return columns[np.argsort(-items, kind="stable")]


def scores_of(engine: Engine, lists: Sequence[Indices], count: int, items: Indices) -> NDArray[np.float64]:
    """Return the scores (B, K) of `items` among the next `count` items of each list; 0 if an item gets none."""
    rules = Rules(allow=items.tolist(), keep_seen=True)
    place = {item: column for column, item in enumerate(items.tolist())}
    scores = np.zeros((len(lists), len(items)))
    for row, found in enumerate(engine.continue_lists(lists, count, rules)):
        scores[row, [place[item] for item in found.items.tolist()]] = found.scores
    return scores
